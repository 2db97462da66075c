"""What it costs to have a desktop that can be seen: start, memory, processor time."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.measure.desktop_rig import FULL, Rig
from gym_anything.measure.desktop_ways import Ways
from gym_anything.measure.http_screen import HttpScreen
from gym_anything.measure.turns import OnRound, Series, Turn, take_turns
from gym_anything.measure.way import OURS, Way

_CHANGES_PER_S = 60
_LATE = 0.05  # fewer changes than this share below 60 a second: the machine was too busy to measure
_REST_S = 3.5  # longer than the service waits for a request before it stops following the screen
_NANOSECONDS_PER_S = 1e9
_FRAMES = ("/memfd:ga-desktop-frames", "/memfd:ga-desktop-grab")


def start(rig: Rig, ways: Ways, rounds: int, on_round: OnRound) -> list[Series]:
    """Start an X server and what shows it, until the first picture is here. Each turn has a world of its own."""

    def ours() -> float:
        began = time.perf_counter()
        with Rig(rig.server) as fresh:
            fresh.desktop.frame()
            return time.perf_counter() - began

    def http() -> float:
        began = time.perf_counter()
        with Rig(rig.server, start_service=False) as fresh, HttpScreen(fresh) as screen:
            screen.picture()
            return time.perf_counter() - began

    every = [Way(OURS, "ours", ours)]
    if ways.http is not None:
        every.append(Way("http", "PNG over HTTP", http))
    series = Series("start", "start to the first picture")
    return [take_turns(series, every, rounds, lambda way, _: Turn(way.do() * 1000), on_round, ours_per_round=1)]


def processor_time_of_a_picture(rig: Rig, ways: Ways, rounds: int, on_round: OnRound) -> list[Series]:
    """Processor time of one picture after a full change: of this process, of programs it runs, and of the service."""
    services = [rig.service_pid, *([ways.http.pid] if ways.http else [])]

    def used_s() -> float:
        programs = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + programs.ru_utime + programs.ru_stime + sum(map(_processor_s, services))

    def sample(way: Way, number: int) -> Turn:
        rig.paint(number)
        before = used_s()
        way.do()
        return Turn((used_s() - before) * 1000)

    series = Series("cpu_of_a_picture", "CPU time of a changed picture")
    return [take_turns(series, ways.to_see(), rounds, sample, on_round)]


def memory_and_processor(rig: Rig, ways: Ways, seconds: float, on_round: OnRound) -> list[Series]:
    """What the service takes while the screen changes 60 times a second and somebody looks, and at rest.

    Args: seconds: how long each share of the processor is measured.
    """
    on_round("memory and CPU")
    busy = Series("cpu_60_changes", "CPU at 60 full changes a second", "%")
    busy.add(OURS, "ours", _busy(rig, seconds))
    in_use = Series("memory_in_use", "memory in use", "MiB")
    beyond = Series("memory_beyond_frames", "memory beyond its frames", "MiB")
    whole, frames = _pss_mib(rig.service_pid)
    in_use.add(OURS, "ours", Turn(whole))
    beyond.add(OURS, "ours", Turn(whole - frames))
    at_rest = Series("memory_at_rest", "memory at rest", "MiB")
    _await_time(time.monotonic() + _REST_S)
    at_rest.add(OURS, "ours", Turn(_pss_mib(rig.service_pid)[0]))
    idle = Series("cpu_at_rest", "CPU at rest", "%")
    pids = {OURS: rig.service_pid}
    if ways.http is not None:
        pids["http"] = ways.http.pid
        for series in (in_use, at_rest):
            series.add("http", "PNG over HTTP", Turn(_pss_mib(ways.http.pid)[0]))
    for key, share in _shares(pids, seconds, lambda: None).items():
        idle.add(key, "ours" if key == OURS else "PNG over HTTP", Turn(share))
    return [busy, idle, in_use, at_rest, beyond]


def _busy(rig: Rig, seconds: float) -> Turn:
    """Return the service's share of the processor while the whole screen changes 60 times a second."""
    wanted = int(seconds * _CHANGES_PER_S)
    began = time.monotonic()
    first = rig.desktop.frame().picture

    def change() -> None:
        for number in range(wanted):
            rig.painter.fill(0x404040 + number % 64 * 0x010101, *FULL)
            if number % _CHANGES_PER_S == 0:
                rig.desktop.newest()  # somebody looks: else the service rests
            _await_time(began + (number + 1) / _CHANGES_PER_S)

    share = _shares({OURS: rig.service_pid}, 0, change)[OURS]
    in_time = time.monotonic() - began < seconds * (1 + _LATE)
    return Turn(share, right=in_time and rig.desktop.frame().picture > first)


def _shares(pids: dict[str, int], seconds: float, act: Callable[[], None]) -> dict[str, float]:
    """Return each process's share of a core while something is done, and until so many seconds are over."""
    before, began = {key: _processor_s(pid) for key, pid in pids.items()}, time.monotonic()
    act()
    _await_time(began + seconds)
    window = time.monotonic() - began
    return {key: (_processor_s(pid) - before[key]) / window * 100 for key, pid in pids.items()}


def _await_time(due: float) -> None:
    wait_until(lambda: time.monotonic() >= due, deadline=Deadline.after(60), awaited="the time", poll_s=0.002)


def _processor_s(pid: int) -> float:
    """Return the processor time of a process. ``stat`` counts in hundredths of a second; this in nanoseconds."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text(encoding="ascii").split()[0]) for path in threads) / _NANOSECONDS_PER_S


def _pss_mib(pid: int) -> tuple[float, float]:
    """Return a process's proportional share of memory: all of it, and what of it is frames and grab buffer."""
    whole = frames = 0
    counts = False
    for line in Path(f"/proc/{pid}/smaps").read_text(encoding="utf-8", errors="replace").splitlines():
        first, *rest = line.split(maxsplit=5)
        if not first.endswith(":"):
            counts = bool(rest) and rest[-1].startswith(_FRAMES)  # a mapping's own line ends in its path
        elif first == "Pss:":
            whole += int(rest[0])
            frames += int(rest[0]) * counts
    return whole / 1024, frames / 1024
