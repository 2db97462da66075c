"""What a person or a tool needs to reach a running world: names, ports, sizes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

_SECRET_FIELDS = ("vnc_password", "ssh_password")


@dataclass(frozen=True)
class SessionInfo:
    """Facts about the present session; what is unknown or does not apply is ``None``.

    The two passwords are for the caller in this process only: ``to_dict``, ``repr`` and pickling leave them out.

    Attributes:
        env_id, task_id: the ids inside the spec files.
        runner_name: key or locator of the runner.
        platform_family: ``linux``, ``windows``, ``android`` or ``macos``.
        artifacts_dir: the episode's folder.
        resolution: (width, height) of the screen in guest pixels.
        fps: frames a second that the spec asks of its screen observation.
        vnc_port, ssh_port: on the host's loopback.
    """

    env_id: str
    task_id: str | None = None
    runner_name: str | None = None
    platform_family: str | None = None
    artifacts_dir: str | None = None
    resolution: tuple[int, int] | None = None
    fps: int | None = None
    network_enabled: bool | None = None
    systemd_enabled: bool | None = None
    container_name: str | None = None
    instance_name: str | None = None
    vnc_port: int | None = None
    vnc_url: str | None = None
    vnc_password: str | None = field(default=None, repr=False)
    ssh_port: int | None = None
    ssh_user: str | None = None
    ssh_password: str | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict without the passwords."""
        names = [f.name for f in dataclasses.fields(self) if f.name not in _SECRET_FIELDS]
        plain = {name: getattr(self, name) for name in names}
        if self.resolution is not None:
            plain["resolution"] = list(self.resolution)
        return plain

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, **dict.fromkeys(_SECRET_FIELDS)}
