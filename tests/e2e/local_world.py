"""What every test on a real local world needs first."""

from __future__ import annotations

from gym_anything.runtime.runners.facts import runner_status
from gym_anything.runtime.runners.registry import resolve_runner
from gym_anything.verification.fork_server import ForkServer
from tests.conftest import RequireBackend


def require_local_world(require_backend: RequireBackend) -> None:
    """Skip, or fail where it is required, when this host can have no local world."""
    status = runner_status(resolve_runner("local"))
    require_backend("local", status.available, status.reason or "")
    ForkServer.shared().warm_up()  # one for the whole process: no test leaves it behind
