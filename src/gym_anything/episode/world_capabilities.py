"""What a judge may ask of a running world, on top of its runner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gym_anything._util.deadline import Deadline
from gym_anything.models.calls import CallLimits
from gym_anything.runtime.runners.base_guest import accepts_keyword
from gym_anything.verification.cancellation import Cancellation
from gym_anything.verification.spending import Spending
from gym_anything.verification.vlm.judge import on_cancel
from gym_anything.verification.vlm.query import query_model
from gym_anything.verification.vlm.settings import VlmSettings

if TYPE_CHECKING:
    from gym_anything.runtime.runners.base import BaseRunner

_SHORTEST_TIMEOUT_S = 0.05


class WorldCapabilities:
    """The ``Capabilities`` of the verification contract; calls end with the deadline, in the guest too."""

    def __init__(
        self,
        runner: BaseRunner,
        *,
        environment: Mapping[str, str] | None = None,
        cancellation: Cancellation | None = None,
        spending: Spending | None = None,
    ) -> None:
        """Make them for one verdict.

        Args:
            environment: the verifier's own variables. cancellation: ends waiting for a vision model.
            spending: the verdict's account with models; None: one of their own.
        """
        self._runner = runner
        self._environment = dict(environment or {})
        self._cancellation = cancellation
        self._spending = Spending() if spending is None else spending
        self.copied_in: list[str] = []
        """Guest paths of files that the verifier put into the world."""

    def exec_capture(self, command: str, *, deadline: Deadline) -> str:
        """Run a shell command in the guest as root and return its output."""
        return self._runner.exec_capture(command, **self._limit(self._runner.exec_capture, deadline))

    def copy_from_env(self, guest_path: str, host_path: str, *, deadline: Deadline) -> None:
        """Copy a file or folder out."""
        self._runner.copy_from(guest_path, host_path, **self._limit(self._runner.copy_from, deadline))

    def copy_to_env(self, host_path: str, guest_path: str, *, deadline: Deadline) -> None:
        """Copy a file or folder in, and remember it: a judge should touch nothing."""
        self.copied_in.append(guest_path)
        self._runner.copy_to(host_path, guest_path, **self._limit(self._runner.copy_to, deadline))

    def query_vlm(self, arguments: Mapping[str, Any], *, deadline: Deadline) -> Mapping[str, Any]:
        """Ask the configured vision model about screenshots on this host; each verdict has one budget."""
        register = on_cancel(self._cancellation) if self._cancellation is not None else None
        settings = VlmSettings(self._environment)
        return query_model(arguments, settings, CallLimits(deadline, register), self._spending)

    @staticmethod
    def _limit(method: Callable[..., Any], deadline: Deadline) -> dict[str, Any]:
        """Return the time-out a runner's method takes, if it takes one."""
        left = deadline.remaining_or_none()
        if left is None or not accepts_keyword(method, "timeout"):
            return {}
        return {"timeout": max(_SHORTEST_TIMEOUT_S, left)}
