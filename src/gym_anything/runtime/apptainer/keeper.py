"""Keeps one instance: starts it, runs a program in it, and is the parent of both.

Apptainer puts an instance into the background. Here it stays a descendant of a process that somebody supervises: what
ends that process ends the instance. Run by ``python_argv``: standard library only, and little of it.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from gym_anything._util.supervision import kernel, process_tree


def main(words: list[str]) -> int:
    """Args: words: command lines as JSON, each run to its end; the last one lives as long as the world does.

    Further words: files of control groups to join, which limit all of it.
    """
    kernel.adopt_orphans()
    for group in words[1:]:
        fd = os.open(group, os.O_WRONLY | os.O_CLOEXEC)
        os.write(fd, b"0")
        os.close(fd)
    *before, last = json.loads(words[0])
    try:
        for argv in before:
            code = _await(_spawn(argv))
            if code != 0:
                print(f"{' '.join(argv[:4])} … ended with {code}", file=sys.stderr, flush=True)
                return code
        return _await(_spawn(last))
    finally:
        _end_the_rest()


def _end_the_rest() -> None:
    """Kill and reap what is left of the instance."""
    while left := process_tree.with_descendants(process_tree.children(os.getpid())):
        for pid in left:
            stat = process_tree.stat_of(pid)
            if stat is not None:
                process_tree.send_to(pid, stat.start_ticks, signal.SIGKILL)
        os.waitpid(-1, 0)


def _spawn(argv: list[str]) -> int:
    return os.posix_spawn(argv[0], argv, os.environ)


def _await(wanted: int) -> int:
    """Reap children, also adopted ones, until this one has ended; return its exit code."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == wanted:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
