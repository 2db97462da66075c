"""The smallest runner there can be: six methods, its own ``__init__``, no call to ``super().__init__``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gym_anything.runtime.runners.base import BaseRunner


class SixMethods(BaseRunner):
    """As people write them who read only the guide."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def start(self, seed=None):
        pass

    def stop(self):
        pass

    def run_reset(self, script, seed=None):
        pass

    def run_task_init(self, script):
        pass

    def inject_action(self, action):
        return None

    def capture_observation(self):
        return {}


def bare_spec(**fields: Any) -> SimpleNamespace:
    """Return an object with the few fields the defaults look at."""
    return SimpleNamespace(**{"id": "bare@1", "os_type": "linux", "observation": (), "runner_options": {}, **fields})
