"""Which process belongs to which program: by descent, by session, by the mark in its environment, by memory."""

from __future__ import annotations

import os
import signal

from gym_anything._util.supervision import process_tree
from gym_anything._util.supervision.entry import SPAWN_VARIABLE, Entry


class Family:
    """All that descends from the supervisor. Whoever loses its parent becomes the supervisor's child (subreaper)."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._leaders: dict[int, Entry] = {}
        self._by_mark: dict[bytes, Entry] = {}
        self._known: dict[int, tuple[int, Entry]] = {}
        """Adopted children whose program is known: pid -> (start ticks, program)."""

    def add(self, entry: Entry, mark: bytes) -> None:
        """Take a new program in; ``mark`` is the value of ``SPAWN_VARIABLE`` in its environment."""
        self._leaders[entry.pid] = entry
        self._by_mark[mark] = entry

    def remove(self, entry: Entry) -> None:
        """Forget a program of which nothing is left."""
        del self._leaders[entry.pid]
        self._by_mark = {mark: other for mark, other in self._by_mark.items() if other is not entry}
        self._known = {pid: known for pid, known in self._known.items() if known[1] is not entry}

    def reap(self) -> None:
        """Collect adopted children that have ended. Leaders are reaped when their whole tree is gone."""
        for pid in self._adopted():
            ended, _ = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._known.pop(pid, None)

    def look(self, entry: Entry) -> int:
        """Find what lives of a program's tree, note it in ``entry.members`` and return the count, leader included."""
        roots = [entry.pid] if entry.returncode is None else []
        roots += [pid for pid in self._adopted() if self._program_of(pid) is entry]
        roots += [pid for pid, (ticks, _) in entry.members.items() if _alive(pid, ticks)]
        members: dict[int, tuple[int, int]] = {}
        for pid in process_tree.with_descendants(roots):
            stat = process_tree.stat_of(pid)
            if stat is not None and stat.state not in "ZX" and pid != entry.pid:
                members[pid] = (stat.start_ticks, stat.group)
        entry.members = members
        return len(members) + (entry.returncode is None)

    def signal(self, entry: Entry, signal_number: int) -> None:
        """Signal the program's whole tree as last looked at: its group in one go, who left the group one by one."""
        if not process_tree.send_to_group(entry.pid, signal_number) and entry.returncode is None:
            os.kill(entry.pid, signal_number)  # it is still on its way to a group of its own
        for pid, (ticks, group) in entry.members.items():
            if group != entry.pid:
                process_tree.send_to(pid, ticks, signal_number)

    def kill_strays(self) -> bool:
        """Kill what was adopted but belongs to no program any more; tell whether there was anything."""
        strays = process_tree.with_descendants([pid for pid in self._adopted() if self._program_of(pid) is None])
        for pid in strays:
            stat = process_tree.stat_of(pid)
            if stat is not None:
                process_tree.send_to(pid, stat.start_ticks, signal.SIGKILL)
        return bool(strays)

    def _adopted(self) -> list[int]:
        return [pid for pid in process_tree.children(self._pid) if pid not in self._leaders]

    def _program_of(self, pid: int) -> Entry | None:
        stat = process_tree.stat_of(pid)
        if stat is None:
            return None
        known = self._known.get(pid)
        if known is not None and known[0] == stat.start_ticks:
            return known[1]
        mark = process_tree.variable_of(pid, SPAWN_VARIABLE) or b""
        entry = self._leaders.get(stat.session) or self._leaders.get(stat.group) or self._by_mark.get(mark)
        if entry is not None:
            self._known[pid] = (stat.start_ticks, entry)
        return entry


def _alive(pid: int, ticks: int) -> bool:
    stat = process_tree.stat_of(pid)
    return stat is not None and stat.start_ticks == ticks and stat.state not in "ZX"
