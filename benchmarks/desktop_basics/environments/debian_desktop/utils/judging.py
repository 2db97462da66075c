"""What the verifiers of this environment share: a file of the world, and points with their feedback."""

import tempfile
from pathlib import Path


def read_bytes(env_info, path):
    """Return the bytes of a file of the world, or None when it is not there."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        try:
            env_info["copy_from_env"](path, str(copy))
        except FileNotFoundError:
            return None
        return copy.read_bytes()


def read_text(env_info, path):
    """Return a text file of the world, or None when it is not there. What is not UTF-8 shows as U+FFFD."""
    raw = read_bytes(env_info, path)
    return None if raw is None else raw.decode("utf-8", errors="replace")


def read_files(env_info, folder):
    """Return relative path -> first line of every file below a folder of the world; a folder: path/ -> ""."""
    command = f"cd {folder} && find . -mindepth 1 -printf '%y\\t%P\\t' \\( -type f -exec head -qn1 {{}} \\; -o -printf '\\n' \\)"
    rows = [line.split("\t", 2) for line in env_info["exec_capture"](command).splitlines() if line.count("\t") >= 2]
    return {path + "/" * (kind == "d"): first for kind, path, first in rows}


def judge(reached, kept=None, note=""):
    """Return a verdict.

    ``reached``: what was asked for -> (points, whether it is so); the points add up to 100.
    ``kept``: what must not be spoiled -> whether it is as it was. What is spoiled costs the pass and half of the points.
    Doing nothing gets 0 as long as nothing in ``reached`` is so from the start.
    """
    kept = kept or {}
    score = sum(points for points, so in reached.values() if so)
    spoiled = [name for name, so in kept.items() if not so]
    missing = [name for name, (_, so) in reached.items() if not so]
    if spoiled:
        score //= 2
    said = ["missing: " + ", ".join(missing)] * bool(missing) + ["spoiled: " + ", ".join(spoiled)] * bool(spoiled)
    feedback = "; ".join(said) or "all of it is right"
    return {
        "passed": not missing and not spoiled,
        "score": score,
        "subscores": {name: points * bool(so) for name, (points, so) in reached.items()},
        "feedback": f"{feedback} ({note})" if note else feedback,
    }
