"""Run the long measurements and keep their records.

``python -m tests.bench.figures --write [NAME …]`` runs each ``tests/bench/figure_<name>.py`` as a process of its own and
writes ``docs/reference/figures/<name>.json``: commit, machine, command, date, summary and series. ``--print`` shows the
summaries and writes nothing. ``docs/reference/performance.md`` is rendered from the records by ``make docs``.

A figure script prints one JSON object as the last line of its standard output:
``{"summary": {key: number}, "series": {key: [numbers]}, "conditions": "one sentence"}``. Units are in the keys.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent
OWN_FOLDERS = {"flat", "local_start", "step", "worlds_at_once"}
RECORDS = ROOT / "docs" / "reference" / "figures"


def names() -> list[str]:
    """Return every figure that has a script."""
    return sorted(p.stem.removeprefix("figure_") for p in SCRIPTS.glob("figure_*.py"))


def machine() -> dict[str, Any]:
    """Describe the machine without naming it."""
    memory_kib = int(Path("/proc/meminfo").read_text(encoding="utf-8").split()[1])
    pretty = ""
    for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
        if line.startswith("PRETTY_NAME="):
            pretty = line.split("=", 1)[1].strip('"')
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(memory_kib / 2**20, 1),
        "system": pretty,
        "kernel": platform.release().split("-")[0],
        "python": platform.python_version(),
        "large_shared_pages": _chosen("/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
    }


def _chosen(path: str) -> str:
    """Return which of a kernel setting's words is chosen: ``always within_size advise [never]``."""
    try:
        return Path(path).read_text(encoding="ascii").partition("[")[2].partition("]")[0]
    except FileNotFoundError:
        return "never"


def commit() -> str:
    """Return the commit that is measured, marked ``+`` when the tree has changes."""
    head = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    changed = subprocess.run(
        ["git", "status", "--porcelain", "--", "src", "native"], cwd=ROOT, capture_output=True, text=True
    )
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def measure(name: str) -> dict[str, Any]:
    """Run one figure script to its end and return its record."""
    command = [sys.executable, "-m", f"tests.bench.figure_{name}"]
    with tempfile.TemporaryDirectory(prefix="ga-fig-") as scratch:  # of its own: nothing else counts as a leak
        own = {
            "GYM_ANYTHING_STATE_DIR": f"{scratch}/s",
            "TMPDIR": f"{scratch}/t",
            "GYM_ANYTHING_LOCAL_CHECKPOINT_DIR": f"{scratch}/c",
        }
        Path(own["TMPDIR"]).mkdir()
        environment = {**os.environ, **(own if name in OWN_FOLDERS else {})}
        result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment)
    if result.returncode != 0:
        raise SystemExit(f"figure {name!r} failed with exit code {result.returncode}")
    answer = json.loads(result.stdout.strip().splitlines()[-1])
    return {
        "figure": name,
        "command": f"python -m tests.bench.figure_{name}",
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "machine": machine(),
        **answer,
    }


def main() -> None:
    """Parse the command line, measure, print, and write when asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help=f"of: {', '.join(names())}")
    parser.add_argument("--write", action="store_true", help="write the records")
    parser.add_argument("--print", action="store_true", help="only print (the default)")
    options = parser.parse_args()
    unknown = set(options.names) - set(names())
    if unknown:
        parser.error(f"unknown figures {sorted(unknown)}; known: {names()}")
    for name in options.names or names():
        print(f"== {name}", flush=True)
        record = measure(name)
        for key, value in record["summary"].items():
            print(f"   {key:40} {value}", flush=True)
        if options.write:
            RECORDS.mkdir(parents=True, exist_ok=True)
            (RECORDS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
