"""Requests to a data server for several environments at once, of which one may never answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything.pool.data_server import DataServer, Kind, Reply


def ask_all(
    server: DataServer, kind: Kind, asked: Mapping[int, tuple[Any, Any]], limit_s: float, *, job: str = ""
) -> dict[int, Reply]:
    """Ask for each environment what it wants, ``(subject, argument)``, and return a reply for each.

    Nobody is waited for longer than ``limit_s``: whoever has not answered by then is given up, and its reply says so.
    """
    deadline = Deadline.after(limit_s)
    out = {
        server.send(kind, subject, argument, job=job, deadline=deadline): index
        for index, (subject, argument) in asked.items()
    }
    replies: dict[int, Reply] = {}
    while out:
        for number, reply in server.recv(len(out)):
            if number in out:  # else an answer to a batch that was broken off
                replies[out.pop(number)] = reply
    return replies
