"""What a running world says about itself, for people and for ``SessionInfo``."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RuntimeInfo:
    """Where a started world can be found; a field that does not apply is None.

    Passwords are left out of ``repr`` and must never be written to an artifact, a log or a wire.
    """

    runner_name: str
    platform_family: str
    container_name: str | None = None
    instance_name: str | None = None
    vnc_port: int | None = None
    vnc_url: str | None = None
    vnc_password: str | None = field(default=None, repr=False)
    ssh_port: int | None = None
    ssh_user: str | None = None
    ssh_password: str | None = field(default=None, repr=False)
