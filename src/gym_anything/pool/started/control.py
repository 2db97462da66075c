"""The control socket of a started pool: who knows the token may ask, drain, stop and borrow.

A connection begins with ``{"token", "version"}``; from then on each request ``{"id", "ask", …}`` is answered by
``{"id", "value"}`` or ``{"id", "error"}``, as they come. What a connection has borrowed ends with it. Only processes of
the same user, and root, are listened to at all.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything.errors import BadWire, GymAnythingError, StateError, Unauthorized, VersionSkew
from gym_anything.pool.pool import Lease, Pool
from gym_anything.pool.started import wire

_HELLO_S = 10.0
Answers = Mapping[str, Callable[[Mapping[str, Any]], Awaitable[Any]]]
"""What can be asked beyond borrowing: name to what answers."""


class ControlServer:
    """Listens for as long as the pool lives. Lives in the pool's event loop."""

    def __init__(self, pool: Pool, token: str, answers: Answers) -> None:
        """Args: token: what every connection must know."""
        self._pool, self._token, self._answers = pool, token, answers
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def listen(self, path: Path) -> None:
        """Begin to listen at a path where nothing is yet. Raises: OSError."""
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            bound.bind(os.fspath(path))
            path.chmod(0o600)
            self._server = await asyncio.start_unix_server(self._serve, sock=bound)
        except BaseException:
            bound.close()
            raise

    async def close(self) -> None:
        """Stop listening and hang up. Idempotent."""
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        connection = _Connection(self._pool, self._answers, writer)
        try:
            if await self._is_welcome(reader, connection):
                while (request := await wire.read(reader)) is not None:
                    connection.take(request)
        except BadWire as error:
            await connection.send({"id": 0, "error": error.to_wire()})
        except asyncio.CancelledError:
            pass  # the pool ends
        finally:
            connection.end()
            writer.close()
            self._connections.discard(task)

    async def _is_welcome(self, reader: asyncio.StreamReader, connection: _Connection) -> bool:
        problem: GymAnythingError | None = None
        try:
            async with asyncio.timeout(_HELLO_S):
                hello = await wire.read(reader, hello=True)
        except TimeoutError:
            return False
        said = hello if isinstance(hello, dict) else {}
        if _stranger(connection.socket):
            problem = Unauthorized("this pool belongs to another user")
        elif not hmac.compare_digest(str(said.get("token")).encode("utf-8", "replace"), self._token.encode()):
            problem = Unauthorized("the pool's token is another one")
        elif said.get("version") != wire.VERSION:
            problem = VersionSkew(f"the pool speaks version {wire.VERSION}, not {said.get('version')}; start it anew")
        if problem is None:
            await connection.send({"id": 0, "value": "welcome"})
        else:
            await connection.send({"id": 0, "error": problem.to_wire()})
        return problem is None


class _Connection:
    """One who asks, with what it has borrowed."""

    def __init__(self, pool: Pool, answers: Answers, writer: asyncio.StreamWriter) -> None:
        self._pool, self._answers, self._writer = pool, answers, writer
        self._leases: dict[str, Lease] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._turn = asyncio.Lock()
        self._ended = False

    @property
    def socket(self) -> Any:
        return self._writer.get_extra_info("socket")

    def take(self, request: Any) -> None:
        """Begin to answer a request. Raises: BadWire."""
        if not isinstance(request, dict) or type(request.get("id")) is not int or request["id"] in self._tasks:
            raise BadWire("a request has an id of its own, a whole number")
        number: int = request["id"]
        if request.get("ask") == "cancel":
            other = self._tasks.get(request.get("which", 0))
            if other is not None:
                other.cancel()
            return
        task = self._tasks[number] = asyncio.create_task(self._answer(number, request))
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    async def _answer(self, number: int, request: dict[str, Any]) -> None:
        try:
            answer = wire.encode({"id": number, "value": await self._do(request)})
        except GymAnythingError as error:
            answer = _refusal(number, error)
        except (KeyError, TypeError, ValueError) as error:
            answer = _refusal(number, BadWire(f"request {request.get('ask')!r}: {type(error).__name__}: {error}"))
        await self._write(answer)

    async def _do(self, request: dict[str, Any]) -> Any:
        ask = str(request.get("ask"))
        own = {"acquire": self._acquire, "perform": self._perform, "beat": self._beat, "release": self._release}
        work = own.get(ask) or self._answers.get(ask)
        if work is None:
            raise BadWire(f"nobody can ask for {ask!r}; there are: {', '.join([*own, *self._answers])}")
        return await work(request)

    async def _acquire(self, request: Mapping[str, Any]) -> dict[str, Any]:
        deadline, job = _deadline(request), str(request.get("job", ""))
        if "task" in request:
            lease = await self._pool.acquire_for(request["task"], deadline, job=job)
        else:
            lease = await self._pool.acquire(deadline, job=job)
        if self._ended:
            lease.release()
            raise StateError("who asked has gone")
        self._leases[lease.name] = lease
        return {"lease": lease.name, "replica": lease.replica_number, "lease_s": lease.lease_s}

    async def _perform(self, request: Mapping[str, Any]) -> Any:
        lease = self._lease(request)
        return await lease.perform(str(request["operation"]), request.get("argument"), _deadline(request))

    async def _beat(self, request: Mapping[str, Any]) -> None:
        for name in request["leases"]:
            if name in self._leases:
                self._leases[name].beat()

    async def _release(self, request: Mapping[str, Any]) -> None:
        lease = self._lease(request)
        del self._leases[lease.name]
        lease.release(broken=bool(request.get("broken")))

    def _lease(self, request: Mapping[str, Any]) -> Lease:
        lease = self._leases.get(str(request.get("lease")))
        if lease is None:
            raise StateError(f"lease {request.get('lease')!r} is not of this connection, or over")
        return lease

    async def send(self, message: Any) -> None:
        """Send one message; whoever has hung up gets none."""
        await self._write(wire.encode(message))

    async def _write(self, data: bytes) -> None:
        async with self._turn:
            try:
                self._writer.write(data)
                await self._writer.drain()
            except ConnectionError:
                pass  # noticed by who reads, which ends all of this

    def end(self) -> None:
        """Give back what was borrowed, give up what is asked."""
        self._ended = True
        for task in self._tasks.values():
            task.cancel()
        for lease in self._leases.values():
            lease.release()


def _refusal(number: int, error: GymAnythingError) -> bytes:
    """Return the answer that something went wrong; what of its facts cannot be sent is left out."""
    try:
        return wire.encode({"id": number, "error": error.to_wire()})
    except BadWire:
        return wire.encode({"id": number, "error": {**error.to_wire(), "detail": {}}})


def _deadline(request: Mapping[str, Any]) -> Deadline:
    seconds = request.get("within_s")
    return Deadline.never() if seconds is None else Deadline.after(float(seconds))


def _stranger(peer: Any) -> bool:
    """Tell whether the other side is a process of another user. Source: unix(7), SO_PEERCRED."""
    raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", raw)
    return uid not in (0, os.geteuid())
