"""Whether this host can run QEMU worlds, for tests outside ``tests/integration/qemu``."""

from __future__ import annotations

from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner
from tests.conftest import RequireBackend


def require_qemu(require_backend: RequireBackend) -> None:
    """Skip, or fail where it is required, when this host cannot run QEMU worlds."""
    status = QemuNativeRunner.doctor_status()
    require_backend("qemu_native", bool(status["available"]), str(status["reason"]))
