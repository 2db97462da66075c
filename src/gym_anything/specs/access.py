"""How people and tools reach into a world: VNC, SSH, ADB."""

from __future__ import annotations

from pydantic import Field

from gym_anything.specs.fields import Flag, HostPort, Name, Port, PositiveNumber, Text
from gym_anything.specs.spec_model import SpecObject


class Vnc(SpecObject):
    """A VNC server for people who want to watch or help."""

    enable: Flag = False
    """Offer VNC. False: nothing listens that nobody asked for."""
    host_port: HostPort = -1
    """Port on the host's loopback; -1 is any free one, and a fixed one that is taken becomes a free one (reported)."""
    container_port: Port = 5900
    """Port inside the guest. 5900 is VNC's own."""
    password: Text | None = Field(default=None, repr=False)
    """VNC password. None: the runner makes one for each session."""
    view_only: Flag = False
    """Watch without input. False: a person may step in."""
    fallback_only: Flag = False
    """Use VNC only where the runner has no better way to see the screen. False."""
    note: Text | None = None
    """A remark for people."""


class Ssh(SpecObject):
    """How the runner logs in over SSH."""

    user: Name | None = None
    """Login name. None: the runner's own."""
    password: Text | None = Field(default=None, repr=False)
    """Password. None: a key is used."""
    key_file: Name | None = None
    """Private key on the host. None: a password is used."""
    port: Port | None = None
    """Port in the guest. None: 22 or the runner's forward."""
    shell: Name | None = None
    """Shell at the other end: ``bash``, ``powershell`` … None: by operating system."""
    note: Text | None = None
    """A remark for people."""


class Adb(SpecObject):
    """How the runner reaches an Android guest over the Android debug bridge."""

    host_port: HostPort = -1
    """Port on the host's loopback; -1 is any free one."""
    guest_port: Port = 5555
    """Port of ``adbd`` in the guest. 5555 is its own."""
    timeout: PositiveNumber = 180
    """Seconds to wait for the device. 180: emulated devices boot slowly."""
    note: Text | None = None
    """A remark for people."""
