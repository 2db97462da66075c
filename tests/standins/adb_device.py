"""A device as adb sees it: ``adbd``'s protocol in front of this host's ``sh`` and a folder that plays its file system.

Debian's own ``adb`` program is run against it in the tests, so that it is no mirror of our client.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import subprocess
import threading
from pathlib import Path

HEADER = struct.Struct("<6I")
ALL_BITS = 0xFFFFFFFF
MAX_DATA = 4096  # small, so that parts are cut


def number(name: bytes) -> int:
    return int.from_bytes(name, "little")


class AdbDevice:
    """Listens on a port of loopback until ``close``. ``wants_key``: as a device that is not a test build.

    Its folder ``bin`` may hold programs of Android's; ``/sdcard`` in a command line is the folder of that name.
    """

    def __init__(self, root: Path, *, wants_key: bool = False, features: str = "shell_v2,cmd") -> None:
        self.root = root
        self.commands: list[str] = []
        self.ends_without_taking = False
        """A service that was told to end does so before it says that it took the words, as a quick one may."""
        self._wants_key, self._features = wants_key, features
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        for sock in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        for thread in self._threads:
            thread.join(10)

    def hang_up(self) -> None:
        """Break every connection, as a device that dies."""
        for sock in self._open:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                self._open.append(sock)
                thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError), sock:
            Transport(self, sock, self._wants_key, self._features).run()


class Transport:
    """One connection from a host."""

    def __init__(self, device: AdbDevice, sock: socket.socket, wants_key: bool, features: str) -> None:
        self.device, self.sock = device, sock
        self.wants_key, self.features = wants_key, features
        self.lock = threading.Lock()
        self.streams: dict[int, Service] = {}

    def run(self) -> None:
        try:
            while True:
                command, a, b, data = self.receive()
                if command == number(b"CNXN"):
                    if self.wants_key:
                        self.send(b"AUTH", 1, 0, os.urandom(20))
                    else:
                        banner = f"device::ro.product.name=standin;ro.product.model=Stand-in;features={self.features}"
                        self.send(b"CNXN", 0x01000001, MAX_DATA, banner.encode())
                elif command == number(b"OPEN"):
                    self.open(a, data.rstrip(b"\0").decode())
                elif b in self.streams:
                    self.streams[b].take(command, data)
        finally:
            for service in list(self.streams.values()):
                service.end()

    def open(self, theirs: int, name: str) -> None:
        ours = len(self.streams) + 100
        if name.startswith("shell,v2"):
            service: Service = ShellService(self, ours, theirs, name.partition(":")[2])
        elif name == "sync:":
            service = SyncService(self, ours, theirs)
        else:
            self.send(b"CLSE", 0, theirs)
            return
        self.streams[ours] = service
        self.send(b"OKAY", ours, theirs)
        service.begin()

    def receive(self) -> tuple[int, int, int, bytes]:
        command, a, b, length, check, magic = HEADER.unpack(self.exactly(HEADER.size))
        data = self.exactly(length)
        assert magic == command ^ ALL_BITS
        assert command != number(b"CNXN") or check == sum(data) & ALL_BITS, "an old device looks at this one"
        return command, a, b, data

    def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.sock.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def send(self, command: bytes, a: int, b: int, data: bytes = b"") -> None:
        head = HEADER.pack(number(command), a, b, len(data), sum(data) & ALL_BITS, number(command) ^ ALL_BITS)
        with self.lock:
            self.sock.sendall(head + data)


class Service:
    def __init__(self, transport: Transport, ours: int, theirs: int) -> None:
        self.transport, self.ours, self.theirs = transport, ours, theirs
        self.taken = threading.Semaphore(0)
        self.input = bytearray()
        self.more = threading.Condition()
        self.saying = threading.Lock()
        self.ended = False

    def begin(self) -> None:
        thread = threading.Thread(target=self._run_to_end, daemon=True)
        self.transport.device._threads.append(thread)
        thread.start()

    def _run_to_end(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            self.run()
            if not self.ended:
                self.transport.send(b"CLSE", self.ours, self.theirs)
                self.ended = True

    def run(self) -> None:
        raise NotImplementedError

    def take(self, command: int, data: bytes) -> None:
        if command == number(b"WRTE"):
            with self.more:
                self.input += data
                self.more.notify_all()
            if not (self.transport.device.ends_without_taking and data.startswith(b"QUIT")):
                self.transport.send(b"OKAY", self.ours, self.theirs)
        elif command == number(b"OKAY"):
            self.taken.release()
        elif command == number(b"CLSE"):
            self.end()

    def end(self) -> None:
        self.ended = True
        self.taken.release()
        with self.more:
            self.more.notify_all()

    def say(self, data: bytes) -> None:
        for start in range(0, len(data), MAX_DATA):
            self.transport.send(b"WRTE", self.ours, self.theirs, data[start : start + MAX_DATA])
            self.taken.acquire()
            if self.ended:
                raise EOFError

    def exactly(self, count: int) -> bytes:
        with self.more:
            self.more.wait_for(lambda: len(self.input) >= count or self.ended)
            if len(self.input) < count:
                raise EOFError
            data = bytes(self.input[:count])
            del self.input[:count]
            return data


class ShellService(Service):
    def __init__(self, transport: Transport, ours: int, theirs: int, command: str) -> None:
        super().__init__(transport, ours, theirs)
        self.process: subprocess.Popen[bytes] | None = None
        self.command = command

    def run(self) -> None:
        device = self.transport.device
        device.commands.append(self.command)
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            ["sh", "-c", self.command.replace("/sdcard", f"{device.root}/sdcard")],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=device.root,
            env={"PATH": f"{device.root}/bin:/usr/bin:/bin"},
            start_new_session=True,
        )
        readers = [
            threading.Thread(target=self._forward, args=(kind, stream), daemon=True)
            for kind, stream in ((1, self.process.stdout), (2, self.process.stderr))
        ]
        for reader in readers:
            reader.start()
        feeder = threading.Thread(target=self._feed, daemon=True)
        feeder.start()
        code = self.process.wait()
        for reader in readers:
            reader.join()
        self.say(struct.pack("<BIB", 3, 1, code & 0xFF))

    def _feed(self) -> None:
        assert self.process is not None and self.process.stdin is not None
        with contextlib.suppress(OSError, EOFError), self.process.stdin as stdin:
            while True:
                kind, length = struct.unpack("<BI", self.exactly(5))
                data = self.exactly(length)
                if kind == 4:
                    return
                stdin.write(data)
                stdin.flush()

    def _forward(self, kind: int, stream: object) -> None:
        with contextlib.suppress(OSError, EOFError), stream:  # type: ignore[attr-defined]
            while data := stream.read1(1000):  # type: ignore[attr-defined]
                with self.saying:
                    self.say(struct.pack("<BI", kind, len(data)) + data)

    def end(self) -> None:
        super().end()
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, 9)


class SyncService(Service):
    def place(self, path: str) -> Path:
        return self.transport.device.root / path.lstrip("/")

    def run(self) -> None:
        while True:
            kind, length = struct.unpack("<4sI", self.exactly(8))
            if kind == b"QUIT":
                return
            text = self.exactly(length).decode()
            {b"STAT": self.stat, b"LIST": self.list, b"RECV": self.recv, b"SEND": self.store}[kind](text)

    def stat(self, path: str) -> None:
        try:
            found = self.place(path).stat()
            answer = (found.st_mode, found.st_size, int(found.st_mtime))
        except FileNotFoundError:
            answer = (0, 0, 0)
        self.say(b"STAT" + struct.pack("<III", *answer))

    def list(self, path: str) -> None:
        for entry in (*self.place(path).iterdir(), self.place(path)):
            name = b"." if entry == self.place(path) else entry.name.encode()
            found = entry.stat()
            head = struct.pack("<4sIIII", b"DENT", found.st_mode, found.st_size, int(found.st_mtime), len(name))
            self.say(head + name)
        self.say(struct.pack("<4sIIII", b"DONE", 0, 0, 0, 0))

    def recv(self, path: str) -> None:
        try:
            data = self.place(path).read_bytes()
        except OSError as error:
            reason = f"open failed: {error.strerror}".encode()
            self.say(struct.pack("<4sI", b"FAIL", len(reason)) + reason)
            return
        for start in range(0, len(data), 65536):
            part = data[start : start + 65536]
            self.say(struct.pack("<4sI", b"DATA", len(part)) + part)
        self.say(struct.pack("<4sI", b"DONE", 0))

    def store(self, text: str) -> None:
        path, _, mode = text.rpartition(",")
        content = b""
        while True:
            kind, length = struct.unpack("<4sI", self.exactly(8))
            if kind == b"DONE":
                break
            content += self.exactly(length)
        if path.startswith("/system/"):
            reason = b"couldn't create file: Read-only file system"
            self.say(struct.pack("<4sI", b"FAIL", len(reason)) + reason)
            return
        place = self.place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(stat.S_IMODE(int(mode)))
        self.say(struct.pack("<4sI", b"OKAY", 0))
