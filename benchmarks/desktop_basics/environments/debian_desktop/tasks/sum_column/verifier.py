"""Ground truth: the cells in the saved file, read from Gnumeric's own format (gzipped XML)."""

import gzip
import re
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

SPACE = "{http://www.gnumeric.org/v10.dtd}"
FORMULA = re.compile(r"=SUM\(\$?B\$?2:\$?B\$?7\)|=\$?B\$?2(\+\$?B\$?[3-6]){4}\+\$?B\$?7", re.IGNORECASE)
SALES = ["1280", "1145", "1610", "1395", "1720", "1888"]


def verify(traj, env_info, task_info):
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "sales.gnumeric"
        env_info["copy_from_env"]("/home/ga/sales.gnumeric", str(copy))
        raw = copy.read_bytes()
    tree = ElementTree.fromstring(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    cells = {(int(c.get("Row")), int(c.get("Col"))): c.text or "" for c in tree.iter(f"{SPACE}Cell")}
    kept = [cells.get((row, 1)) for row in range(1, 7)] == SALES
    total = cells.get((7, 1), "")
    formula = bool(FORMULA.fullmatch(total.replace(" ", "")))
    partial = 30 if total and total.lstrip("=") else 0
    return {
        "passed": kept and formula,
        "score": 100 if kept and formula else partial,
        "feedback": f"B8 holds {total!r}; the sales are {'unchanged' if kept else 'changed'}",
    }
