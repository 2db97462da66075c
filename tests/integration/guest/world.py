"""A small world for tests: ga-guest as PID 1 of its own process namespace, with a user ``ga`` of its own."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.guest.readiness import await_guest

GA_UID = 1000
_PASSWD = (
    "root:x:0:0:root:/root:/bin/bash\nga:x:1000:1000:Ga:{home}:/bin/bash\nother:x:1001:1001::/nonexistent:/bin/sh\n"
)
_GROUP = "root:x:0:\nga:x:1000:\nother:x:1001:\nwheel:x:900:ga,other\nvideo:x:44:ga\n"


def soon(seconds: float = 20.0) -> Deadline:
    """Return a deadline that a healthy test never meets."""
    return Deadline.after(seconds)


class World:
    """Starts on creation; ``stop`` ends it however it is."""

    def __init__(
        self,
        program: Path,
        folder: Path,
        *,
        arguments: Sequence[str] = (),
        command: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        rootless: bool = False,
    ) -> None:
        self.folder = folder
        self.token = secrets.token_bytes(32)
        self.socket = folder / "guest.sock"
        self.home = folder / "home"
        self.home.mkdir()
        self.log = folder / "log"
        (folder / "bin").mkdir()
        shutil.copy(program, folder / "bin" / "sudo")
        (folder / "passwd").write_text(_PASSWD.format(home=self.home))
        (folder / "group").write_text(_GROUP)
        if os.getuid() == 0:
            os.chown(self.home, GA_UID, GA_UID)
            for part in (folder, *folder.parents[:3]):
                part.chmod(part.stat().st_mode | 0o011)
        reader, writer = os.pipe()
        self.token_pipe = str(Path(f"/proc/self/fd/{reader}").readlink())
        init = [str(program), "init", "--socket", str(self.socket), "--token-fd", str(reader)]
        init += ["--sudo-socket", str(folder / "root.sock"), "--sudo-uid", str(GA_UID), *arguments]
        if command:
            init += ["--", *command]
        mounts = " && ".join(
            f"mount --bind {shlex.quote(str(folder / name))} /etc/{name}" for name in ("passwd", "group")
        )
        self.process = subprocess.Popen(
            ["unshare", *_namespaces(rootless or os.getuid() != 0), "sh", "-c", f'{mounts} && exec "$@"', "sh", *init],
            pass_fds=[reader],
            env={**self._environment(), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=self.log.open("wb"),
            stderr=subprocess.STDOUT,
        )
        os.close(reader)
        os.write(writer, self.token)
        os.close(writer)

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.folder / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "GA_SUDO_SOCKET": str(self.folder / "root.sock"),
            "BASE": "from the world",
            "ASAN_OPTIONS": "detect_leaks=0",
        }

    def _died(self) -> str | None:
        return None if self.process.poll() is None else f"exit status {self.process.returncode}"

    def connect(self, *, token: bytes | None = None) -> GuestChannel:
        """Connect, waiting for the world to be up."""
        return await_guest(
            self.socket, token=token or self.token, deadline=soon(), died=self._died, log_tail=self.log.read_text
        )

    def init_pid(self) -> int:
        """Return the host's pid of ga-guest."""
        children = wait_until(lambda: proc.children(self.process.pid), deadline=soon(), awaited="the world's init")
        return children[0]

    def pids(self) -> list[int]:
        """Return the host's pids of all processes in the world."""
        found, new = [], [self.init_pid()]
        while new:
            found += new
            new = [child for pid in new for child in proc.children(pid)]
        return found

    def stop(self) -> None:
        """Kill it if it still runs."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)  # --kill-child: its init goes too
        self.process.wait(10)


def _namespaces(rootless: bool) -> list[str]:
    own = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return ["--user", "--map-root-user", *own] if rootless else own
