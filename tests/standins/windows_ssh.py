"""Windows' SSH server as our side of the wire sees it: passwords, ``powershell.exe -EncodedCommand``, ``/C:/…`` paths.

``asyncssh`` plays the server; what PowerShell would answer the test says itself. The client is OpenSSH's own.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import shlex
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncssh

USER, PASSWORD = "Docker", "Gym'Anything\"123! $x"
Answer = tuple[str, str, int]
Script = Callable[[str], Answer]


class WindowsSsh:
    """A server with a folder that plays drive ``C:``. ``answer(script)`` returns output, errors and exit code."""

    def __init__(self, drive: Path, answer: Script) -> None:
        self.drive, self.answer = drive, answer
        self.scripts: list[str] = []
        self.commands: list[str] = []
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def script_of(self, command: str) -> str:
        """Return what PowerShell is told, or fail when this is no command line of PowerShell's."""
        program, *words = shlex.split(command)
        assert program == "powershell.exe" and words[-2] == "-EncodedCommand", command
        return base64.b64decode(words[-1]).decode("utf-16-le")

    async def _session(self, process: asyncssh.SSHServerProcess[str]) -> None:
        command = process.command or ""
        self.commands.append(command)
        script = self.script_of(command)
        self.scripts.append(script)
        if "Start-Sleep" in script:
            await asyncio.sleep(1000)
        out, err, code = self.answer(script)
        process.stdout.write(out)
        process.stderr.write(err)
        process.exit(code)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        drive = self.drive

        class Login(asyncssh.SSHServer):
            def begin_auth(self, username: str) -> bool:
                return True

            def password_auth_supported(self) -> bool:
                return True

            def validate_password(self, username: str, password: str) -> bool:
                return (username, password) == (USER, PASSWORD)

        class Drive(asyncssh.SFTPServer):
            def map_path(self, path: bytes) -> bytes:
                text = path.decode()
                assert text.startswith("/C:/") or text in (".", "/"), f"Windows has no {text}"
                return str(drive / text.removeprefix("/C:/")).encode()

            def reverse_map_path(self, path: bytes) -> bytes:
                return f"/C:/{Path(path.decode()).relative_to(drive)}".encode()

        self._stop = asyncio.Event()
        server = await asyncssh.create_server(
            Login,
            "127.0.0.1",
            0,
            server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
            process_factory=self._session,
            sftp_factory=Drive,
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await server.wait_closed()

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(10)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)


@contextlib.contextmanager
def windows_ssh(drive: Path, answer: Script = lambda script: ("", "", 0)) -> Iterator[WindowsSsh]:
    """Run a server for the length of a block."""
    server = WindowsSsh(drive, answer)
    server.start()
    try:
        yield server
    finally:
        server.close()
