"""The user accounts of a guest."""

from __future__ import annotations

from pydantic import Field

from gym_anything.specs.fields import AccountName, Count, Flag, Line, PositiveCount, Text, TextMap, TextOrNumber
from gym_anything.specs.spec_model import OpenSpecObject, SpecObject


class Permissions(SpecObject):
    """What an account may do."""

    sudo: Flag = False
    """May become root. False."""
    sudo_nopasswd: Flag = False
    """May do so without a password. False."""
    shell: Line | None = None
    """Login shell. None: the system's."""
    groups: tuple[AccountName, ...] = ()
    """Groups besides the primary one."""
    primary_group: AccountName | None = None
    """Primary group. None: one of the account's own name."""
    home_dir: Line | None = None
    """Home folder. None: the system's place for it."""
    home_permissions: TextOrNumber | None = None
    """Mode of the home folder in octal digits, ``755``. None: the system's."""
    create_home: Flag = True
    """Make the home folder. True."""
    login_shell: Flag = True
    """The account may log in. True."""
    system_user: Flag = False
    """A system account (low uid, not shown at login). False."""
    network_access: Flag = True
    """Processes of the account may use the network that the world has. True."""
    max_processes: PositiveCount | None = None
    """Limit of processes. None: no limit of its own."""
    max_memory: TextOrNumber | None = None
    """Memory limit, ``2G`` or bytes. None: no limit of its own."""
    env_vars: TextMap = Field(default_factory=dict)
    """Environment variables of the account's sessions; ``DISPLAY`` given here wins over the default ``:1``."""


class UserAccount(OpenSpecObject):
    """An account in the guest; unknown keys are kept."""

    name: AccountName
    """Login name."""
    password: TextOrNumber | None = Field(default=None, repr=False)
    """Password. None: no password login."""
    uid: Count | None = None
    """Numeric user id. None: the next free one."""
    gid: Count | None = None
    """Numeric group id. None: follows the user id."""
    role: Text | None = None
    """What the person is (``developer``, ``teacher``); a remark, nothing depends on it."""
    permissions: Permissions = Field(default_factory=Permissions)
    """What the account may do."""
