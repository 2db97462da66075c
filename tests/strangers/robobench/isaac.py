"""A simulator as its author would wrap it after reading the guide: the six methods, and a check of its options."""

from gym_anything.errors import ActionUnsupported
from gym_anything.runtime.runners.base import BaseRunner


class IsaacSimRunner(BaseRunner):
    def start(self, seed=None):
        self.ticks = 0

    def stop(self):
        pass

    def run_reset(self, script, seed=None):
        pass

    def run_task_init(self, script):
        pass

    def inject_action(self, action):
        if action.get("action") != "step_sim":
            raise ActionUnsupported(f"the simulator cannot {action}")
        self.ticks += action["steps"]

    def capture_observation(self):
        return {"telemetry": {"ticks": self.ticks}}

    def exec_capture(self, cmd):
        return str(self.ticks)

    @classmethod
    def validate_options(cls, spec):
        return [
            f"unknown option {name!r}, did you mean 'usd_stage'?" for name in spec.runner_options if name != "usd_stage"
        ]
