"""`desktop_basics` with the oracle in every world: what `docs/reference/worlds.md` shows."""

from __future__ import annotations

import json
import sys

from tools.worlds_table import play_all, problems, tasks


def main() -> None:
    wanted = tasks()
    worlds = play_all(lambda text: print(text, file=sys.stderr, flush=True))
    wrong = problems(worlds, wanted)
    if wrong:
        raise SystemExit("\n".join(wrong))
    series = {f"{runner}_s": [row["seconds"] for row in world["tasks"].values()] for runner, world in worlds.items()}
    passed = sum(row["status"] == "passed" for world in worlds.values() for row in world["tasks"].values())
    summary = {"passed": passed, "of": len(wanted) * len(worlds)}
    summary |= {f"{runner}_all_s": world["seconds"] for runner, world in worlds.items()}
    conditions = "oracle, fast I/O, 1920x1080; recorded as always; the engine and the images are there"
    print(json.dumps({"summary": summary, "series": series, "conditions": conditions, "worlds": worlds}))


if __name__ == "__main__":
    main()
