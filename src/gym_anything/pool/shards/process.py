"""Starting a shard process, and its end."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

from gym_anything._util import logs
from gym_anything._util.deadline import Deadline
from gym_anything._util.state_dir import Run, WorldDir
from gym_anything._util.supervised_process import StopPlan, SupervisedProcess
from gym_anything._util.supervisor import Supervisor

SOCKET_FD = 3
_CODE = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from gym_anything.pool.shards.program import main; sys.exit(main())"
)
_STOP = StopPlan(grace_s=20.0)  # it takes its worlds down in this time; what is left then is killed with it
_LOG, _LOG_LINES = "shard.log", 20


class ShardProcess:
    """One process, from its start to its end; it dies with this one, however that ends.

    Its only way in is one end of a pair of sockets that it inherits: nobody else can talk to it.
    """

    def __init__(self, number: int) -> None:
        """Args: number: tells it from the other shards of its pool."""
        self.name = f"shard {number}"
        self.place: WorldDir = Run.current().new_world("shard", shard=number)
        self._process: SupervisedProcess | None = None

    def start(self) -> socket.socket:
        """Start it and return our end. Blocks some milliseconds. Raises: ProcessStartFailed, SupervisorLost."""
        ours, theirs = socket.socketpair()
        with theirs, (self.place.path / _LOG).open("ab") as log:
            try:
                self._process = Supervisor.shared().spawn(
                    [sys.executable, "-c", _CODE, json.dumps(sys.path)],
                    name=self.name,
                    env={**os.environ, "PYTHONUNBUFFERED": "1"},
                    stdout=log.fileno(),
                    stderr=log.fileno(),
                    pass_fds={SOCKET_FD: theirs.fileno()},
                    stop=_STOP,
                )
            except BaseException:
                ours.close()
                raise
        return ours

    @property
    def pid(self) -> int | None:
        """Its process id, once it was started."""
        return None if self._process is None else self._process.pid

    def kill(self) -> None:
        """End it and everything of it at once. Blocks. Idempotent."""
        if self._process is not None:
            self._process.stop(Deadline.after(0.0))

    def end(self, deadline: Deadline) -> None:
        """Wait for its end, which hanging up brings about; past the deadline it is killed. Blocks."""
        if self._process is not None:
            self._process.stop(deadline)
        self.place.remove()

    def log_tail(self) -> str:
        """Return the end of what it printed."""
        path: Path = self.place.path / _LOG
        return logs.tail(path, _LOG_LINES) if path.exists() else ""
