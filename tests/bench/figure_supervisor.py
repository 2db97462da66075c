"""The supervisor: its start, a program's start and stop, its memory, and what 500 programs leave behind."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import threading
import time

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.supervisor import Supervisor

STARTS, PROGRAMS = 15, 500


def milliseconds(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)


def start_to_first_program() -> tuple[float, float]:
    began = time.perf_counter()
    supervisor = Supervisor()
    supervisor.spawn(["true"], name="first").wait(Deadline.after(30))
    started = milliseconds(began)
    began = time.perf_counter()
    supervisor.close()
    return started, milliseconds(began)


def counts(supervisor: Supervisor) -> dict[str, int]:
    [server] = proc.children(supervisor.warden_pid)
    return {
        "fds": len(proc.open_fds()) + len(proc.open_fds(server)),
        "threads": threading.active_count(),
        "processes": len(proc.descendants(os.getpid())),
        "rss_kib": proc.rss_kib(os.getpid()) + proc.rss_kib(server) + proc.rss_kib(supervisor.warden_pid),
    }


def main() -> None:
    starts = [start_to_first_program() for _ in range(STARTS)]
    supervisor = Supervisor()
    series: dict[str, list[float]] = {
        "start_to_first_program_ended_ms": [start for start, _ in starts],
        "close_ms": [close for _, close in starts],
        "spawn_ms": [],
        "stop_ms": [],
        "subprocess_run_true_ms": [],
    }
    for _ in range(50):
        supervisor.spawn(["true"], name="warm").stop()
    before = counts(supervisor)
    for number in range(PROGRAMS):
        began = time.perf_counter()
        process = supervisor.spawn(["sleep", "100"], name="measured")
        series["spawn_ms"].append(milliseconds(began))
        began = time.perf_counter()
        process.stop()
        series["stop_ms"].append(milliseconds(began))
        if number % 10 == 0:
            began = time.perf_counter()
            subprocess.run(["true"], check=True)
            series["subprocess_run_true_ms"].append(milliseconds(began))
    after = counts(supervisor)
    [server] = proc.children(supervisor.warden_pid)
    memory = {"supervisor": proc.pss_kib(server), "warden": proc.pss_kib(supervisor.warden_pid)}
    supervisor.close()
    summary: dict[str, float] = {f"{key}_p50": round(statistics.median(values), 2) for key, values in series.items()}
    summary |= {
        "spawn_ms_p95": round(statistics.quantiles(series["spawn_ms"], n=20)[-1], 2),
        "supervisor_pss_mib": round(memory["supervisor"] / 1024, 1),
        "warden_pss_mib": round(memory["warden"] / 1024, 1),
        **{f"{key}_grown_by_500_programs": after[key] - before[key] for key in before},
    }
    print(json.dumps({"summary": summary, "series": series, "conditions": "one owner, one program after the other"}))


if __name__ == "__main__":
    main()
