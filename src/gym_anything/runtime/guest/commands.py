"""Commands in a guest: run to the end, detached, signalled."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Mapping, Sequence

from gym_anything._util.deadline import Deadline
from gym_anything.errors import GuestCommandFailed, StateError
from gym_anything.runtime.guest import wire
from gym_anything.runtime.guest.connection import Connection
from gym_anything.runtime.guest.exchange import Exchange, Source, deadline_ms
from gym_anything.runtime.guest.exec_result import ExecResult

OutputCallback = Callable[[str, bytes], None]

_STREAMS = ("stdout", "stderr")


def environment_texts(env: Mapping[str, str] | None) -> list[bytes]:
    """Encode an environment as NAME=VALUE. Raises ValueError for a name that cannot be one."""
    entries = []
    for name, value in (env or {}).items():
        if not name or "=" in name:
            raise ValueError(f"not a name of an environment variable: {name!r}")
        entries.append(f"{name}={value}")
    return wire.texts(entries)


def describe(argv: Sequence[str | bytes]) -> str:
    """Name a command for an error message: its first words only, since arguments may hold secrets."""
    first = argv[0] if argv else ""
    shown = first.decode(errors="replace") if isinstance(first, bytes) else first
    return f"guest command {shown!r:.120}"


def chunks(data: bytes) -> Iterator[bytes]:
    """Cut into pieces that fit a message."""
    size = wire.CONSTANTS["MAX_CHUNK"]
    for at in range(0, len(data), size):
        yield data[at : at + size]


def _joined(parts: list[bytes], lost: int, tail: int) -> bytes:
    data = b"".join(parts)
    if not lost:
        return data
    cut = len(data) - tail
    return data[:cut] + f"\n[... {lost} bytes left out ...]\n".encode() + data[cut:]


def _result(end: wire.Message, kept: tuple[list[bytes], list[bytes]]) -> ExecResult:
    flags = end["flags"]
    by_signal = end["signal"] or None
    return ExecResult(
        exit_code=128 + by_signal if by_signal else end["status"],
        stdout=_joined(kept[0], end["stdout_lost"], end["stdout_tail"]),
        stderr=_joined(kept[1], end["stderr_lost"], end["stderr_tail"]),
        truncated=bool(end["stdout_lost"] or end["stderr_lost"]),
        timed_out=bool(flags & wire.CONSTANTS["EXITED_TIMED_OUT"]),
        signal=by_signal,
        cancelled=bool(flags & wire.CONSTANTS["EXITED_CANCELLED"]),
        kill_incomplete=bool(flags & wire.CONSTANTS["EXITED_KILL_INCOMPLETE"]),
        duration_s=end["duration_ns"] / 1e9,
    )


class Typed:
    """Input that comes piece by piece from other threads."""

    def __init__(self) -> None:
        self._pieces: collections.deque[bytes] = collections.deque()
        self._ended = False

    def add(self, data: bytes) -> None:
        """Append input (unbounded: the writer must not outrun the command for ever)."""
        self._pieces.extend(chunks(data))

    def end(self) -> None:
        """Say that nothing more comes."""
        self._ended = True

    def __iter__(self) -> Source:
        while True:
            ended = self._ended
            if self._pieces:
                yield self._pieces.popleft()
            elif ended:
                return
            else:
                yield None


class GuestJob:
    """A running guest command. ``wait`` belongs to one thread, all else to any.

    Input and output move only while some thread is in ``wait``.
    """

    def __init__(self, exchange: Exchange, source: Source | Typed | None, on_output: OutputCallback | None) -> None:
        self._exchange = exchange
        self._source: Source | None = iter(source) if source is not None else None
        self._input = source if isinstance(source, Typed) else None
        self._on_output = on_output
        self._kept: tuple[list[bytes], list[bytes]] = ([], [])

    def _take_output(self, stream: int, chunk: bytes) -> None:
        self._kept[stream - 1].append(chunk)
        if self._on_output is not None:
            self._on_output(_STREAMS[stream - 1], chunk)

    def wait(self) -> ExecResult:
        """Block until the command's end (at most its deadline and the grace for the guest's report)."""
        return _result(self._exchange.finish(source=self._source, sink=self._take_output), self._kept)

    def write(self, data: bytes) -> None:
        """Add to the command's input. Only for a job started with ``interactive``."""
        self._typed().add(data)
        self._exchange.wake()

    def end_input(self) -> None:
        """Let the command read end of file after what was written. Only for a job started with ``interactive``."""
        self._typed().end()
        self._exchange.wake()

    def _typed(self) -> Typed:
        if self._input is None:
            raise StateError("this guest command was not started with interactive=True")
        return self._input

    def signal(self, number: int) -> None:
        """Send a signal to the command's process group."""
        self._exchange.send("SIGNAL", signal=number)

    def resize(self, rows: int, columns: int) -> None:
        """Tell a command with a pseudo-terminal that its window changed."""
        self._exchange.send("RESIZE", rows=rows, columns=columns)

    def cancel(self) -> None:
        """Kill the command with all its descendants; ``wait`` then returns a result with ``cancelled``."""
        self._exchange.send("CANCEL")


def start_command(
    connection: Connection,
    argv: Sequence[str | bytes],
    *,
    deadline: Deadline,
    user: str,
    env: Mapping[str, str] | None,
    cwd: str | None,
    stdin: bytes,
    interactive: bool,
    max_output_bytes: int,
    pty: bool,
    window: tuple[int, int],
    on_output: OutputCallback | None,
) -> GuestJob:
    """Send the request that runs ``argv``."""
    if not argv:
        raise ValueError("an empty guest command")
    source: Source | Typed | None = Typed() if interactive else chunks(stdin) if stdin else None
    flags = (wire.CONSTANTS["EXEC_PTY"] if pty else 0) | (wire.CONSTANTS["EXEC_STDIN"] if source is not None else 0)
    exchange = Exchange(connection, describe(argv), deadline)
    exchange.request(
        "EXEC",
        flags=flags,
        deadline_ms=deadline_ms(deadline),
        max_output=max_output_bytes,
        rows=window[0],
        columns=window[1],
        user=user.encode(),
        cwd=(cwd or "").encode(),
        argv=wire.texts(argv),
        env=environment_texts(env),
    )
    return GuestJob(exchange, source, on_output)


def spawn_command(
    connection: Connection,
    argv: Sequence[str | bytes],
    *,
    deadline: Deadline,
    user: str,
    env: Mapping[str, str] | None,
    cwd: str | None,
    log_path: str | None,
) -> int:
    """Start ``argv`` detached and return its pid in the guest."""
    if not argv:
        raise ValueError("an empty guest command")
    exchange = Exchange(connection, f"start of {describe(argv)}", deadline)
    exchange.request(
        "SPAWN",
        flags=0,
        user=user.encode(),
        cwd=(cwd or "").encode(),
        log_path=(log_path or "").encode(),
        argv=wire.texts(argv),
        env=environment_texts(env),
    )
    return int(exchange.finish()["value"])


def poll_spawned(connection: Connection, pid: int, deadline: Deadline) -> int | None:
    """Return the exit status of a detached process, None while it runs."""
    exchange = Exchange(connection, f"state of guest process {pid}", deadline)
    exchange.request("POLL", pid=pid)
    state = exchange.finish()
    if state["state"] == wire.CONSTANTS["PROCESS_RUNNING"]:
        return None
    return int(128 + state["signal"] if state["signal"] else state["status"])


def kill_process(connection: Connection, pid: int, number: int, *, tree: bool, deadline: Deadline) -> bool:
    """Signal a guest process; False when there is none."""
    exchange = Exchange(connection, f"signal {number} to guest process {pid}", deadline)
    exchange.request("KILL", flags=wire.CONSTANTS["KILL_TREE"] if tree else 0, pid=pid, signal=number)
    try:
        exchange.finish()
    except GuestCommandFailed as error:
        if error.detail.get("errno") == "ESRCH":
            return False
        raise
    return True
