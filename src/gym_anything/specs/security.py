"""How tightly the world is held."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import PrivateAttr

from gym_anything.specs.fields import Flag, Name, NotNegative, Text, TextOrNumber, Texts
from gym_anything.specs.spec_model import SpecObject


class Security(SpecObject):
    """Isolation. A field that the chosen runner cannot enforce is reported, never dropped in silence."""

    user: TextOrNumber | None = None
    """User (or ``uid:gid``) that the world's main process runs as. None: the runner's own."""
    cap_drop: Texts = ()
    """Linux capabilities taken away; ``ALL`` is allowed."""
    cap_add: Texts = ()
    """Linux capabilities given."""
    devices: Texts = ()
    """Devices of the host that the guest sees."""
    seccomp_profile: Name | None = None
    """Path of a seccomp profile. None: the runner's own."""
    network_allowlist: Texts | None = None
    """Hosts that may be reached when ``resources.net`` is true. None: no restriction; ``[]``: none at all."""
    secrets_ref: Name | None = None
    """File beside the environment's (JSON or YAML) with variables for every guest command; never stored elsewhere."""
    privileged: Flag = False
    """A container without isolation from the kernel. False."""
    use_systemd: Flag = False
    """systemd is PID 1 of the guest. False."""
    mount_cgroups: Flag = False
    """The guest sees the host's control groups. False."""
    cgroupns_host: Flag = False
    """The guest shares the host's cgroup namespace. False."""
    tmpfs_run: Flag = False
    """``/run`` is a tmpfs. False."""
    stop_timeout: NotNegative | None = None
    """Seconds between a polite stop and a hard one. None: the runner's own."""
    runtime: Text | None = None
    """OCI runtime, such as ``runsc`` or ``sysbox-runc``. None: the engine's default."""

    _secret_env: Mapping[str, str] = PrivateAttr(default_factory=dict)

    @property
    def resolved_env(self) -> Mapping[str, str]:
        """Return the variables that ``secrets_ref`` named, once they were attached (``secret_refs.attach_secrets``).

        They are no field: no dump and no repr of the spec shows them.
        """
        return self._secret_env
