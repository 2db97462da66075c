"""Playing on a pool that was started in another process: as if it were here.

::

    with DataServer(lambda: BorrowedPool(find_pool("debian_desktop"))) as server:
        begun = server.reset([{"task": "write_note"}])

Pictures are copied once on their way, so that they stay as they are. What is borrowed stays so as long as this event
loop turns, and is given back when this process ends, however it ends.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything.errors import ReplicaFailed, Unreachable, from_wire
from gym_anything.pool.heartbeats import Heartbeats
from gym_anything.pool.started import wire
from gym_anything.pool.started.asking import ANSWER_S, ask
from gym_anything.pool.started.folder import PoolEntry

_LATER_S = 15.0
"""The other side says that it was too late; only one that hangs says nothing."""


class BorrowedLease:
    """A replica of another process's pool. See ``Lease``."""

    def __init__(self, pool: BorrowedPool, name: str, replica: int, lease_s: float) -> None:
        self.name, self.lease_s = name, lease_s
        self._replica, self._pool = replica, pool
        self._over = False

    @property
    def replica_number(self) -> int:
        """Which replica it is."""
        return self._replica

    async def perform(self, operation: str, argument: Any = None, deadline: Deadline | None = None) -> Any:
        """See ``Lease``. Raises: as it; ReplicaFailed when the pool's process ends meanwhile."""
        asked = {"lease": self.name, "operation": operation, "argument": argument}
        try:
            return await self._pool.ask("perform", within_s=_within(deadline), **asked)
        except Unreachable as error:
            raise ReplicaFailed(f"replica {self._replica} is gone with its pool: {error}") from error

    def beat(self) -> None:
        """Show a sign of life."""
        if not self._over:
            self._pool.beat(self.name)

    def release(self, *, broken: bool = False) -> None:
        """Give it back. Idempotent."""
        if not self._over:
            self._over = True
            self._pool.give_back(self, broken)


class BorrowedPool:
    """Borrows from a started pool, in one event loop. See ``Lender``; ``stop`` gives everything back."""

    def __init__(self, entry: PoolEntry) -> None:
        """Nothing is asked before ``start``."""
        self._entry = entry
        self._numbers = itertools.count(1)
        self._awaited: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._beats = Heartbeats()
        self._beating: list[str] = []
        self._ended = ""

    def start(self) -> None:
        """Connect. Blocks some milliseconds. Raises: Unreachable, Unauthorized, VersionSkew, StateError."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        sock.settimeout(ANSWER_S)
        try:
            sock.connect(os.fspath(self._entry.socket))
            sock.sendall(wire.encode({"token": self._entry.token, "version": wire.VERSION}))
            answer = wire.receive(sock)
            if "error" in answer:
                raise from_wire(answer["error"])
        except OSError as error:
            sock.close()
            raise Unreachable(f"pool {self._entry.name} does not answer: {error}") from error
        except BaseException:
            sock.close()
            raise
        sock.setblocking(False)
        self._spawn(self._converse(sock))

    async def acquire(self, deadline: Deadline, *, job: str = "") -> BorrowedLease:
        """See ``Pool.acquire``. Raises: as it; Unreachable when the pool's process has ended."""
        return await self._acquire(deadline, job=job)

    async def acquire_for(self, task: Any, deadline: Deadline, *, job: str = "") -> BorrowedLease:
        """See ``Pool.acquire_for``."""
        return await self._acquire(deadline, job=job, task=task)

    async def _acquire(self, deadline: Deadline, **asked: Any) -> BorrowedLease:
        lent = await self.ask("acquire", within_s=_within(deadline), **asked)
        lease = BorrowedLease(self, lent["lease"], lent["replica"], lent["lease_s"])
        self._beats.hold(lease)
        return lease

    def status(self) -> dict[str, Any]:
        """Return the pool's status. Blocks some milliseconds. Raises: Unreachable."""
        status: dict[str, Any] = ask(self._entry, "status", stories=True)
        return status

    async def stop(self) -> None:
        """Hang up: what is borrowed is given back. Idempotent."""
        self._end("the connection was closed here")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def ask(self, what: str, **arguments: Any) -> Any:
        """Ask and wait for the answer; who stops waiting has it given up there, too. Raises: what the pool says."""
        number, awaited = self._send(what, arguments)
        within_s = arguments.get("within_s")
        try:
            async with asyncio.timeout(None if within_s is None else within_s + _LATER_S):
                return await awaited
        except TimeoutError as error:
            message = f"pool {self._entry.name} did not answer within {within_s:g} s, nor {_LATER_S:g} s later"
            raise Unreachable(message) from error
        except asyncio.CancelledError:
            self.tell("cancel", which=number)
            raise

    def beat(self, lease: str) -> None:
        """Show a sign of life for a lease; those of one turn of the loop go together."""
        if not self._beating:
            asyncio.get_running_loop().call_soon(self._send_beats)
        self._beating.append(lease)

    def give_back(self, lease: BorrowedLease, broken: bool) -> None:
        """A lease is over."""
        self._beats.let_go(lease)
        self.tell("release", lease=lease.name, broken=broken)

    def tell(self, what: str, **arguments: Any) -> None:
        """Ask for something whose answer nobody awaits; a pool that has ended needs to hear nothing."""
        if not self._ended:
            self._send(what, arguments)

    def _send_beats(self) -> None:
        beating, self._beating = self._beating, []
        self.tell("beat", leases=beating)

    def _send(self, what: str, arguments: dict[str, Any]) -> tuple[int, asyncio.Future[Any]]:
        if self._ended:
            raise Unreachable(f"pool {self._entry.name}: {self._ended}")
        number = next(self._numbers)
        self._outbox.put_nowait(wire.encode({"id": number, "ask": what, **arguments}))
        awaited: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        awaited.add_done_callback(_look_at)
        if what != "cancel":
            self._awaited[number] = awaited
        return number, awaited

    async def _converse(self, sock: socket.socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=sock, limit=1 << 22)
        sending = asyncio.create_task(self._send_on(writer))
        try:
            while (message := await wire.read(reader)) is not None:
                self._take(message)
        finally:
            sending.cancel()
            writer.close()
            self._end("its process has ended")

    async def _send_on(self, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(await self._outbox.get())
            await writer.drain()

    def _take(self, message: dict[str, Any]) -> None:
        awaited = self._awaited.pop(message["id"], None)
        if awaited is None or awaited.done():
            return
        if "error" in message:
            awaited.set_exception(from_wire(message["error"]))
        else:
            awaited.set_result(message["value"])

    def _end(self, reason: str) -> None:
        self._ended = self._ended or reason
        self._beats.stop()
        for awaited in self._awaited.values():
            if not awaited.done():
                awaited.set_exception(Unreachable(f"pool {self._entry.name}: {self._ended}"))
        self._awaited.clear()

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _within(deadline: Deadline | None) -> float | None:
    return None if deadline is None else deadline.remaining_or_none()


def _look_at(done: asyncio.Future[Any]) -> None:
    if not done.cancelled():
        done.exception()  # nobody may be waiting for it
