"""An Android guest: command lines as root, files, packages. Each call has a connection of its own."""

from __future__ import annotations

import contextlib
import shlex
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything.errors import Aborted, DeadlineExceeded, GuestCommandFailed, Unreachable, WorldLost
from gym_anything.runtime.guest.adb.connection import AdbConnection
from gym_anything.runtime.guest.adb.files import pull, push
from gym_anything.runtime.guest.adb.shell import run_command
from gym_anything.runtime.guest.exec_result import ExecResult

_READY = "getprop sys.boot_completed"
_UPLOADS = "/data/local/tmp"


class AndroidShell:
    """The way into one Android guest. Any thread."""

    def __init__(self, port: int) -> None:
        """Args: port: of this host's loopback, behind which the guest's ``adbd`` is."""
        self._port = port
        self._lock = threading.Lock()
        self._open: set[AdbConnection] = set()
        self._aborted = False
        self._becomes_root: bool | None = None

    def run(self, command: str, deadline: Deadline) -> ExecResult:
        """Run one command line in ``sh``, as root where the image lets anybody be root.

        Raises: Unreachable, Unauthorized, WorldLost, Aborted; a passed deadline gives a result with ``timed_out``.
        """
        if self._by_su(deadline):
            command = f"su 0 sh -c {shlex.quote(command)}"
        return self._plain(command, deadline)

    def put(self, source: Path, destination: str, deadline: Deadline) -> None:
        """See ``OtherShell``."""
        with self._connection(deadline) as adb:
            push(adb, source, destination, deadline)

    def get(self, source: str, destination: Path, deadline: Deadline) -> None:
        """See ``OtherShell``. Raises: GuestFileNotFound."""
        with self._connection(deadline) as adb:
            pull(adb, source, destination, deadline)

    def is_up(self, deadline: Deadline) -> str:
        """See ``OtherShell``."""
        try:
            done = self._plain(_READY, deadline)
        except (Unreachable, DeadlineExceeded, WorldLost) as error:
            return str(error)
        return "" if done.stdout.strip() == b"1" else "Android has not said yet that it has started"

    def install(self, package: Path, deadline: Deadline) -> None:
        """Install an APK with all the rights it asks for. Raises: GuestCommandFailed with Android's reason."""
        place = f"{_UPLOADS}/ga_{uuid.uuid4().hex[:12]}.apk"
        self.put(package, place, deadline)
        done = self._plain(f"pm install -r -g {place}", deadline)
        self._plain(f"rm -f {place}", deadline)
        if not done.ok or b"Success" not in done.stdout:
            reason = (done.stderr or done.stdout)[-500:].decode(errors="replace").strip()
            raise GuestCommandFailed(f"{package.name} could not be installed: {reason}", detail={"log_tail": reason})

    def abort(self) -> None:
        """See ``OtherShell``."""
        with self._lock:
            self._aborted, connections = True, list(self._open)
        for connection in connections:
            connection.abort()

    def _by_su(self, deadline: Deadline) -> bool:
        """Tell whether ``su`` makes a root of the user that adb gives; asked once."""
        if self._becomes_root is None:
            is_root = self._plain("id -u", deadline).stdout.strip() == b"0"
            self._becomes_root = not is_root and self._plain("su 0 id -u", deadline).stdout.strip() == b"0"
        return self._becomes_root

    def _plain(self, command: str, deadline: Deadline) -> ExecResult:
        with self._connection(deadline) as adb:
            return run_command(adb, command, deadline)

    @contextmanager
    def _connection(self, deadline: Deadline) -> Iterator[AdbConnection]:
        if self._aborted:
            raise Aborted("adb: ended by abort()")
        with contextlib.closing(AdbConnection.connect(self._port, deadline)) as connection:
            with self._lock:
                self._open.add(connection)
                ended = self._aborted
            try:
                if ended:
                    raise Aborted("adb: ended by abort()")
                yield connection
            finally:
                with self._lock:
                    self._open.discard(connection)
