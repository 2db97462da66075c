"""How many bad (and good) specs, actions, hooks and verifiers the property tests try in one run of `make test`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = re.compile(r"(\d+) passing, 0 failing")
TEST = re.compile(r"^(tests/\S+?):$", re.MULTILINE)


def main() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--hypothesis-show-statistics",
        "-m",
        "not soak",
    ]
    files = [
        str(p.relative_to(ROOT))
        for p in sorted((ROOT / "tests").rglob("test_*.py"))
        if "@given" in p.read_text(encoding="utf-8")
    ]
    result = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(result.stdout[-3000:])
    per_test: dict[str, int] = {}
    current = ""
    for line in result.stdout.splitlines():
        if line.startswith("tests/") and line.endswith(":"):
            current = line[:-1]
        for count in EXAMPLES.findall(line):
            per_test[current] = per_test.get(current, 0) + int(count)
    summary = {"cases": sum(per_test.values()), "property_tests": len(per_test)}
    print(
        json.dumps(
            {"summary": summary, "series": per_test, "conditions": "each case is a typed error or the right value"}
        )
    )


if __name__ == "__main__":
    main()
