"""The plan of one sandbox: plain JSON data, made by the runner, carried out by the launcher."""

from __future__ import annotations

from typing import TypedDict

from gym_anything.runtime.session.plan import SessionPlan


class IdsPlan(TypedDict):
    """The ids of the world, reserved by the runner for as long as the world's files are in use."""

    base_uid: int
    base_gid: int
    count: int
    how: str


class LayerPlan(TypedDict):
    """One read-only layer of the root file system (a checkpoint), newest first in ``SandboxPlan.layers``."""

    path: str
    base_uid: int


class BindPlan(TypedDict):
    """A host file or folder shown in the world, read-only."""

    source: str
    target: str
    map_ids: bool


class FolderPlan(TypedDict):
    """A folder the world starts with."""

    path: str
    uid: int
    gid: int
    mode: int


class FilePlan(TypedDict):
    """A file, written as text, or a link (``link_to``)."""

    path: str
    text: str
    link_to: str
    mode: int
    uid: int
    gid: int


class SandboxPlan(TypedDict):
    """Everything the launcher needs. No secret is in it.

    ``init_source`` is the host's program whose unreadable copy (``launch.INIT_COPY``) a bind shows at
    ``guest_program``; empty when there is nothing to copy.

    ``generation`` counts the launches over one ``upper/fs`` (what the world writes, the only folder that stays): each
    has its own ``skel``, ``work``, ``root`` and ``lower``.
    """

    world_dir: str
    generation: int
    ids: IdsPlan
    hostname: str
    layers: list[LayerPlan]
    binds: list[BindPlan]
    folders: list[FolderPlan]
    files: list[FilePlan]
    tmpfs_mib: int
    shm_mib: int
    cgroups: list[str]
    rlimits: dict[str, int]
    init_source: str
    guest_program: str
    guest_argv: list[str]
    waiter: str
    env: dict[str, str]
    session: SessionPlan | None


class DirectPlan(TypedDict):
    """What the launcher of a world without a sandbox needs."""

    world_dir: str
    cgroups: list[str]
    guest_program: str
    guest_argv: list[str]
    waiter: str
    env: dict[str, str]
    session: SessionPlan
