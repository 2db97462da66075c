"""What a judge may ask of a running world, on top of its runner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gym_anything._util.deadline import Deadline
from gym_anything.errors import VlmNotConfigured
from gym_anything.runtime.runners.base_guest import accepts_keyword

if TYPE_CHECKING:
    from gym_anything.runtime.runners.base import BaseRunner

_SHORTEST_TIMEOUT_S = 0.05


class WorldCapabilities:
    """The ``Capabilities`` of the verification contract; calls end with the deadline, in the guest too."""

    def __init__(self, runner: BaseRunner) -> None:
        self._runner = runner

    def exec_capture(self, command: str, *, deadline: Deadline) -> str:
        """Run a shell command in the guest as root and return its output."""
        return self._runner.exec_capture(command, **self._limit(self._runner.exec_capture, deadline))

    def copy_from_env(self, guest_path: str, host_path: str, *, deadline: Deadline) -> None:
        """Copy a file or folder out."""
        self._runner.copy_from(guest_path, host_path, **self._limit(self._runner.copy_from, deadline))

    def copy_to_env(self, host_path: str, guest_path: str, *, deadline: Deadline) -> None:
        """Copy a file or folder in."""
        self._runner.copy_to(host_path, guest_path, **self._limit(self._runner.copy_to, deadline))

    def query_vlm(self, arguments: Mapping[str, Any], *, deadline: Deadline) -> Mapping[str, Any]:
        """Refuse: this version has no vision model to ask."""
        raise VlmNotConfigured(
            "the verifier asked for a vision model, and none is configured: this version cannot ask one yet. "
            "Judge without it, or catch this error in the verifier.",
            detail={"feature": "query_vlm"},
        )

    @staticmethod
    def _limit(method: Callable[..., Any], deadline: Deadline) -> dict[str, Any]:
        """Return the time-out a runner's method takes, if it takes one."""
        left = deadline.remaining_or_none()
        if left is None or not accepts_keyword(method, "timeout"):
            return {}
        return {"timeout": max(_SHORTEST_TIMEOUT_S, left)}
