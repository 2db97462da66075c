"""What the supervisor knows of one program it started."""

from __future__ import annotations

from gym_anything._util.supervision.escalation import Escalation

SPAWN_VARIABLE = b"GYM_ANYTHING_SPAWN"
"""In every program's environment: by which start it or its ancestor came to be. Inherited, so it marks who escaped."""


class Entry:
    """One program, from its fork until nothing of its tree is left."""

    def __init__(self, key: int, pid: int, plan: tuple[int, float], world: str, name: str) -> None:
        self.key = key
        self.pid = pid
        self.stop_signal, self.grace_s = plan
        self.world = world
        self.name = name
        self.starting = True
        """Until it is known whether the program could be executed."""
        self.announced = False
        """The owner knows of it, so its end will be told."""
        self.returncode: int | None = None
        """How the program itself ended; it stays unreaped until its whole tree is gone."""
        self.escalation: Escalation | None = None
        self.waiting: list[int] = []
        """Requests to be answered when nothing of the tree is left."""
        self.members: dict[int, tuple[int, int]] = {}
        """The live rest of the tree when last looked at, without the leader: pid -> (start ticks, process group)."""
