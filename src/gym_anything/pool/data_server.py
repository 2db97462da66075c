"""The single entry to a pool: batches of ``reset``, ``step`` and ``evaluate``, in order or as they come.

Two faces of one source: ``AsyncDataServer`` in an event loop, ``DataServer`` for everybody else, which keeps a loop in
a thread of its own and forwards every call. Phases: configure (make the pool and the server), reset, operate, evaluate;
the last does not end an episode.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from gym_anything._util.deadline import Deadline
from gym_anything.errors import GymAnythingError, ReplicaFailed, StateError, WorldLost
from gym_anything.pool.heartbeats import Heartbeats
from gym_anything.pool.lending import Lender, Lent
from gym_anything.pool.request_rooms import RequestRooms

T = TypeVar("T")
Kind = Literal["reset", "step", "evaluate", "close"]
QUEUE_LIMIT = 4096
_Crowd = tuple[str, bool]
"""Whose requests hold each other up: those of a job, its resets apart."""
RESET_S = 600.0
RESET_RETRIES = 2
STEP_S = 120.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of one request.

    Attributes:
        episode: which it was about; for a reset the new one, "" where there is none.
        kind: what was asked. value: what the world gave. error: why there is no value; what is no error of ours is its
            ``__cause__``.
    """

    episode: str
    kind: str
    value: Any = None
    error: GymAnythingError | None = None

    @property
    def ok(self) -> bool:
        """True where there is a value."""
        return self.error is None


class AsyncDataServer:
    """Episodes on a pool. Lives in the pool's event loop; use it as an asynchronous context manager.

    A policy may think as long as it likes: open episodes stay open until they are closed, their world fails or the
    pool's limit of time for a task ends them.
    """

    def __init__(self, pool: Lender, *, queue_limit: int = QUEUE_LIMIT) -> None:
        """Serve a pool, which starts and stops with the server.

        Args: queue_limit: so many requests of a job sent and not yet received; more are held up (``send`` waits).
        """
        self.pool = pool
        self._leases: dict[str, Lent] = {}
        self._beats = Heartbeats()
        self._job_of: dict[str, str] = {}
        self._rooms = RequestRooms(queue_limit)
        self._ready: deque[tuple[int, _Crowd, Reply]] = deque()
        self._news = asyncio.Event()
        self._numbers = itertools.count(1)
        self._tasks: dict[int, asyncio.Task[Reply]] = {}

    # --- batches -------------------------------------------------------------------------------------------------

    async def reset(self, tasks: Sequence[Any], *, job: str = "", deadline: Deadline | None = None) -> list[Reply]:
        """Begin an episode for each task, each on a replica of its own; replies in the order of the tasks.

        Waits for replicas where there are fewer, ten minutes at most or until ``deadline``. An episode that could not
        be begun is a reply with an error.
        """
        deadline = deadline or Deadline.after(RESET_S)
        asked = [asyncio.ensure_future(self._reset(task, job, deadline)) for task in tasks]
        try:
            return list(await asyncio.gather(*asked))
        except asyncio.CancelledError:  # nobody learns of those that were begun
            for one in asked:
                if not one.cancel() and not one.cancelled():
                    self._close(one.result().episode)
            raise

    async def step(self, actions: Sequence[tuple[str, Any]], *, deadline: Deadline | None = None) -> list[Reply]:
        """Do one action in each of these episodes at once; replies in their order. Each is applied at most once.

        Args: deadline: two minutes from now unless it is given. What has no answer by then is a reply with
            InputDeliveryUnknown, or with InputNotDelivered where the episode was still busy with something before.
        """
        return await self._each("step", actions, deadline)

    async def evaluate(self, episodes: Sequence[str], *, deadline: Deadline | None = None) -> list[Reply]:
        """Judge episodes as they are; they go on. Late (DeadlineExceeded) after two minutes, or ``deadline``."""
        return await self._each("evaluate", [(episode, None) for episode in episodes], deadline)

    async def perform(
        self, operation: str, asked: Sequence[tuple[str, Any]], *, deadline: Deadline | None = None
    ) -> list[Reply]:
        """Do another operation that the worlds know, one in each of these episodes; replies in their order.

        Environments know ``finish`` (complete the episode; its final report), ``observe``, ``describe``, ``log``,
        ``copy_to``, ``copy_from``: see ``environment_world``.
        """
        return await self._each(operation, asked, deadline)

    async def close(self, episodes: Sequence[str], *, broken: bool = False) -> list[Reply]:
        """End episodes and give their replicas back. Unknown ones are replies with an error.

        Args: broken: their worlds failed, or hang, and are not used again.
        """
        return [self._close(episode, broken) for episode in episodes]

    # --- as they come --------------------------------------------------------------------------------------------

    async def send(
        self, kind: Kind, subject: Any, argument: Any = None, *, job: str = "", deadline: Deadline | None = None
    ) -> int:
        """Ask for something and return its number at once; ``recv`` gives the reply when it has come.

        Args: subject: the task of a reset, else the episode, which is of the job that began it. deadline: of the
            request, as in a batch.
        Waits while ``queue_limit`` requests of its job are out: a policy that is slower than its worlds does not fill
        the memory. Resets, which may wait long for replicas, are counted apart: they hold up no open episode.
        """
        crowd = (job or self._job_of.get(str(subject), ""), False) if kind != "reset" else (job, True)
        await self._rooms.enter(crowd)
        number = next(self._numbers)
        task = self._tasks[number] = asyncio.create_task(self._request(kind, subject, argument, job, deadline))
        task.add_done_callback(functools.partial(self._took, number, crowd))
        return number

    async def recv(self, count: int = 1, *, deadline: Deadline | None = None) -> list[tuple[int, Reply]]:
        """Return the next replies, each with the number of its request; at least one, at most ``count``.

        What was cancelled has no reply.

        Raises: StateError when nothing is out, or nothing any more: the last one was cancelled; TimeoutError.
        """
        async with asyncio.timeout(None if deadline is None else deadline.remaining_or_none()):
            while not self._ready:
                if not self._tasks:
                    raise StateError("recv: nothing was sent that has no reply yet")
                self._news.clear()
                await self._news.wait()
        done = [self._ready.popleft() for _ in range(min(max(count, 1), len(self._ready)))]
        for _, crowd, _ in done:
            self._rooms.leave(crowd)
        return [(number, reply) for number, _, reply in done]

    def cancel(self, number: int) -> bool:
        """Give up a request that waits; tell whether there was one. What it had applied by then stays so.

        There is no reply to it; a ``recv`` that waited for this one alone ends.
        """
        task = self._tasks.get(number)
        return task is not None and task.cancel()

    async def _request(self, kind: Kind, subject: Any, argument: Any, job: str, deadline: Deadline | None) -> Reply:
        if kind == "reset":
            return await self._reset(subject, job, deadline or Deadline.after(RESET_S))
        if kind == "close":
            return self._close(subject)
        return (await self._each(kind, [(subject, argument)], deadline))[0]

    def _took(self, number: int, crowd: _Crowd, task: asyncio.Task[Reply]) -> None:
        del self._tasks[number]
        if task.cancelled():
            self._rooms.leave(crowd)
        else:
            self._ready.append((number, crowd, task.result()))
        self._news.set()

    # --- one episode ---------------------------------------------------------------------------------------------

    async def _reset(self, task: Any, job: str, deadline: Deadline) -> Reply:
        """Begin an episode; on another replica when the one it had goes before there is a first observation."""
        tries = 0
        while True:
            tries += 1
            reply = await self._reset_once(task, job, deadline)
            went = isinstance(reply.error, ReplicaFailed | WorldLost) and reply.error.blame in ("world", "host")
            if not went or tries > RESET_RETRIES or deadline.expired():
                return reply

    async def _reset_once(self, task: Any, job: str, deadline: Deadline) -> Reply:
        lease = None
        try:
            lease = await self.pool.acquire_for(task, deadline, job=job)
            value = await lease.perform("reset", task, deadline)
        except GymAnythingError as error:
            if lease is not None:
                lease.release(broken=error.blame in ("world", "host"))
            return Reply("", "reset", error=error)
        except Exception as error:  # noqa: BLE001 - a batch's boundary: it is this reply's, not that of all others
            if lease is not None:
                lease.release(broken=True)
            return Reply("", "reset", error=_as_ours(error))
        except BaseException:
            if lease is not None:
                lease.release(broken=True)
            raise
        self._leases[lease.name], self._job_of[lease.name] = lease, job
        self._beats.hold(lease)
        return Reply(lease.name, "reset", value)

    async def _each(self, kind: str, asked: Sequence[tuple[str, Any]], deadline: Deadline | None) -> list[Reply]:
        deadline = deadline or Deadline.after(STEP_S)

        async def one(episode: str, argument: Any) -> Reply:
            try:
                return Reply(episode, kind, await self._lease(episode).perform(kind, argument, deadline))
            except Exception as error:  # noqa: BLE001 - a batch's boundary: it is this reply's, not that of all others
                return Reply(episode, kind, error=_as_ours(error))

        if len(asked) == 1:  # most often; a task of its own would cost as much as all else here
            return [await one(*asked[0])]
        return list(await asyncio.gather(*(one(episode, argument) for episode, argument in asked)))

    def _close(self, episode: str, broken: bool = False) -> Reply:
        try:
            lease = self._lease(episode)
            del self._leases[episode], self._job_of[episode]
            self._beats.let_go(lease)
            lease.release(broken=broken)
        except Exception as error:  # noqa: BLE001 - as above
            return Reply(episode, "close", error=_as_ours(error))
        return Reply(episode, "close")

    def _lease(self, episode: str) -> Lent:
        lease = self._leases.get(episode)
        if lease is None:
            raise StateError(f"no episode {episode!r} is open here")
        return lease

    async def __aenter__(self) -> Self:
        self.pool.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in list(self._tasks.values()):
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        for episode in list(self._leases):
            self._close(episode)
        await self.pool.stop()


def _as_ours(error: Exception) -> GymAnythingError:
    """Return an error that a reply can have; what is none of ours becomes the cause of one."""
    if isinstance(error, GymAnythingError):
        return error
    ours = GymAnythingError(f"{type(error).__name__}: {error}")
    ours.__cause__ = error
    return ours


class DataServer:
    """The same for code without an event loop: every method as in ``AsyncDataServer``, blocking. Any thread.

    ::

        with DataServer(lambda: Pool(make_world, PoolRules(least=16))) as server:
            replies = server.reset(tasks)
            replies = server.step([(reply.episode, action) for reply in replies if reply.ok])
    """

    def __init__(self, make_pool: Callable[[], Lender], *, queue_limit: int = QUEUE_LIMIT) -> None:
        """Nothing is made before the context is entered. ``make_pool`` is called in the server's event loop."""
        self._make_pool, self._queue_limit = make_pool, queue_limit
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._server: AsyncDataServer | None = None

    def __enter__(self) -> Self:
        loop = self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=loop.run_forever, name="data server", daemon=True)
        self._thread.start()
        try:
            self._server = self._do(self._open())
        except BaseException:
            self._end_loop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._do(self._running().__aexit__(None, None, None))
        finally:
            self._end_loop()

    def reset(self, tasks: Sequence[Any], *, job: str = "", deadline: Deadline | None = None) -> list[Reply]:
        """See ``AsyncDataServer``."""
        return self._do(self._running().reset(tasks, job=job, deadline=deadline))

    def step(self, actions: Sequence[tuple[str, Any]], *, deadline: Deadline | None = None) -> list[Reply]:
        """See ``AsyncDataServer``."""
        return self._do(self._running().step(actions, deadline=deadline))

    def evaluate(self, episodes: Sequence[str], *, deadline: Deadline | None = None) -> list[Reply]:
        """See ``AsyncDataServer``."""
        return self._do(self._running().evaluate(episodes, deadline=deadline))

    def perform(
        self, operation: str, asked: Sequence[tuple[str, Any]], *, deadline: Deadline | None = None
    ) -> list[Reply]:
        """See ``AsyncDataServer``."""
        return self._do(self._running().perform(operation, asked, deadline=deadline))

    def close(self, episodes: Sequence[str], *, broken: bool = False) -> list[Reply]:
        """See ``AsyncDataServer``."""
        return self._do(self._running().close(episodes, broken=broken))

    def send(
        self, kind: Kind, subject: Any, argument: Any = None, *, job: str = "", deadline: Deadline | None = None
    ) -> int:
        """See ``AsyncDataServer``."""
        return self._do(self._running().send(kind, subject, argument, job=job, deadline=deadline))

    def recv(self, count: int = 1, *, deadline: Deadline | None = None) -> list[tuple[int, Reply]]:
        """See ``AsyncDataServer``."""
        return self._do(self._running().recv(count, deadline=deadline))

    def cancel(self, number: int) -> bool:
        """See ``AsyncDataServer``."""

        async def cancel() -> bool:
            return self._running().cancel(number)

        return self._do(cancel())

    def status(self) -> dict[str, Any]:
        """Return the pool's status as plain data."""

        async def status() -> dict[str, Any]:
            return self._running().pool.status()

        return self._do(status())

    async def _open(self) -> AsyncDataServer:
        server = AsyncDataServer(self._make_pool(), queue_limit=self._queue_limit)
        return await server.__aenter__()

    def _running(self) -> AsyncDataServer:
        if self._server is None:
            raise StateError("the data server is not running; use it in a with statement")
        return self._server

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:  # Ctrl-C while it waits: the work is given up, too
            future.cancel()
            raise

    def _end_loop(self) -> None:
        assert self._loop is not None and self._thread is not None
        self._server = None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
