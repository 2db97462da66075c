"""The process that one episode has to itself.

It speaks JSON lines with its parent (``process_executor``) over a socket: the order first, then news upward and, at
most, the wish to finish downward. It has no say over its own time: the parent ends it. SIGTERM makes it give up now,
leaving nothing behind.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from gym_anything._util import labels
from gym_anything.benchmark.agent_thread import EpisodeStop
from gym_anything.benchmark.episode_request import EpisodeRequest

SOCKET_FD = 3
FINISH = "finish"


class NewsLine:
    """Sends one JSON line for each piece of news; a parent that is gone is no reason to fail."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def send(self, kind: str, **facts: Any) -> None:
        """Send one line."""
        try:
            self._sock.sendall((json.dumps({"kind": kind, **facts}, default=str) + "\n").encode())
        except (BrokenPipeError, ConnectionResetError):
            pass  # the parent died; its supervisor ends us in a moment

    def phase(self, name: str, limit_s: float) -> None:
        """See ``agent_loop.Monitor``; JSON has no infinity, so no limit is null."""
        self.send("phase", name=name, limit_s=None if limit_s == float("inf") else limit_s)

    def stepped(self, steps: int, max_steps: int | None) -> None:
        """See ``agent_loop.Monitor``."""
        self.send("step", steps=steps, max_steps=max_steps)


def main(fd: int = SOCKET_FD) -> None:
    """Do what the parent orders over a socket, and end the process."""
    code = 1
    try:
        signal.signal(signal.SIGTERM, _give_up)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to understand
        with socket.socket(fileno=fd) as sock, sock.makefile("rb") as orders:
            order = json.loads(orders.readline())
            _stand_where_the_owner_stands(order)
            if "check" in order:
                _check(sock, order)
            else:
                _play(sock, orders, order)
        code = 0
    except KeyboardInterrupt:
        code = 130  # everything was cleaned up on its way here
    except Exception:  # noqa: BLE001 - the boundary of a process: its log has the traceback, its code says that it failed
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    # An agent's hung thread must not keep a finished episode alive, so no waiting for threads.
    atexit._run_exitfuncs()
    os._exit(code)


def _stand_where_the_owner_stands(order: Mapping[str, Any]) -> None:
    """Take over import path, environment and working directory; the latter two are told to a forked process only."""
    sys.path[:] = order["sys_path"]
    if "environment" in order:
        kept = {name: os.environ[name] for name in (labels.ENV_NAME,) if name in os.environ}
        os.environ.clear()
        os.environ.update({**order["environment"], **kept})
    if "cwd" in order:
        os.chdir(order["cwd"])
    importlib.invalidate_caches()


def _play(sock: socket.socket, orders: IO[bytes], order: Mapping[str, Any]) -> None:
    request = EpisodeRequest.from_dict(order["request"])
    stop = EpisodeStop()
    threading.Thread(target=_listen, args=(orders, stop), name="orders", daemon=True).start()
    news = NewsLine(sock)

    from gym_anything.benchmark.play import play_episode

    try:
        play_episode(
            request,
            Path(order["run_dir"]),
            news,
            stop=stop,
            on_record=lambda record: news.send("record", record=record.to_dict()),
            on_facts=lambda facts: news.send("facts", facts=dict(facts)),
        )
    finally:
        sock.shutdown(socket.SHUT_RDWR)  # ends the listening thread, which holds the reading side


def _check(sock: socket.socket, order: Mapping[str, Any]) -> None:
    """Make everything that episodes need and start nothing; each thing that was made, or not, is a piece of news."""
    from gym_anything.benchmark.preflight import try_to_make

    news = NewsLine(sock)
    requests = [EpisodeRequest.from_dict(request) for request in order["check"]]
    for made in try_to_make(requests, Path(order["run_dir"])):
        news.send("made", made=made.to_dict())
    sock.shutdown(socket.SHUT_RDWR)


def _listen(orders: IO[bytes], stop: EpisodeStop) -> None:
    """Wait for the wish to finish; the end of the stream is none."""
    try:
        if orders.readline().strip().decode() == FINISH:
            stop.set()
    except (OSError, ValueError):
        pass  # the socket was closed: the episode is over


def _give_up(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once: the clean-up it starts is not cut short by a second one
    raise KeyboardInterrupt
