"""A small linter of Dockerfiles: what hadolint would say of ours, and what the engine's older builder cannot do.

Source: Dockerfile reference; rule numbers as hadolint's wiki has them.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

INSTRUCTIONS = frozenset(
    {"ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "ONBUILD", "RUN", "SHELL",
     "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"}
)  # fmt: skip
_IMAGE = re.compile(r"^[a-z0-9./-]+(:(?P<tag>[\w][\w.-]*))?(@sha256:[0-9a-f]{64})?$")


@dataclass(frozen=True)
class Instruction:
    line: int
    name: str
    rest: str


def parsed(text: str) -> Iterator[Instruction]:
    """Yield the instructions, continued lines joined and comments left out."""
    held, began = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#") or not line.strip():
            continue
        began = began or number
        if line.rstrip().endswith("\\"):
            held += line.rstrip()[:-1] + " "
            continue
        name, _, rest = (held + line).strip().partition(" ")
        yield Instruction(began, name, rest.strip())
        held, began = "", 0
    if held:
        yield Instruction(began, "?", "the last line is continued")


def lint(file: Path) -> list[str]:
    """Return what is wrong with a Dockerfile, each with its line."""
    found: list[str] = []
    instructions = list(parsed(file.read_text(encoding="utf-8")))
    if not instructions or instructions[0].name != "FROM":
        found.append("1: the first instruction must be FROM (DL3061)")
    for one in instructions:
        check = {
            "FROM": _from,
            "RUN": _run,
            "COPY": _copy,
            "CMD": _command,
            "ENTRYPOINT": _command,
            "WORKDIR": _workdir,
        }
        if one.name not in INSTRUCTIONS:
            found.append(f"{one.line}: {one.name!r} is no instruction")
        elif one.name == "ADD":
            found.append(f"{one.line}: use COPY (DL3020)")
        elif one.name in check:
            found += [f"{one.line}: {problem}" for problem in check[one.name](one.rest, file.parent)]
    for name in ("CMD", "ENTRYPOINT"):
        if sum(one.name == name for one in instructions) > 1:
            found.append(f"1: more than one {name} (DL4003, DL4004)")
    return found


def packages(run: str) -> list[str]:
    """Return the packages that a RUN line installs, in its order."""
    match = re.search(r"apt-get install (.*?)(&&|;|$)", run, re.DOTALL)
    return [word for word in match[1].split() if not word.startswith("-")] if match else []


def shell_problems(script: str, shell: str = "sh") -> list[str]:
    """Return what a shell says of a script's syntax."""
    done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
    return [done.stderr.strip()] if done.returncode else []


def _from(rest: str, folder: Path) -> Iterator[str]:
    match = _IMAGE.match(rest.split()[0])
    if match is None:
        yield f"{rest!r} is no image"
    elif match["tag"] in (None, "latest") and "@" not in rest:
        yield "the image has no version (DL3006, DL3007)"


def _run(rest: str, folder: Path) -> Iterator[str]:
    yield from shell_problems(rest)
    for word, rule in (("sudo ", "DL3004"), ("apt-get upgrade", "DL3005"), ("apt-get dist-upgrade", "DL3005")):
        if re.search(rf"(^|[;&|]\s*){word}", rest):
            yield f"{word.strip()} has no place here ({rule})"
    if re.search(r"(^|[;&|]\s*)apt ", rest):
        yield "apt is for people; use apt-get (DL3027)"
    if re.search(r"(^|[;&|]\s*)cd ", rest):
        yield "use WORKDIR (DL3003)"
    if "|" in rest.replace("||", "") and "pipefail" not in rest and not re.search(r"echo '[^']*' \|", rest):
        yield "what fails before a pipe is not seen (DL4006)"
    if "apt-get install" not in rest:
        return
    if "apt-get update" not in rest or not rest.index("apt-get update") < rest.index("apt-get install"):
        yield "apt-get update belongs into the same RUN, before install (DL3009)"
    if not re.search(r"apt-get install [^&]*-y", rest):
        yield "apt-get install asks without -y (DL3014)"
    if "--no-install-recommends" not in rest:
        yield "--no-install-recommends is missing (DL3015)"
    if "rm -rf /var/lib/apt/lists/*" not in rest:
        yield "the lists of apt stay in the image (DL3009)"
    names = packages(rest)
    if names != sorted(set(names)):
        yield f"packages are to be sorted, each once: {next(a for a, b in zip(names, sorted(names), strict=True) if a != b)}"
    for name in names:
        if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name):
            yield f"{name!r} is no package"


def _copy(rest: str, folder: Path) -> Iterator[str]:
    words = rest.split()
    if words[0].startswith("--chmod"):
        yield "--chmod needs BuildKit, which the engine's own builder has not"
        words = words[1:]
    *sources, target = words
    if not PurePosixPath(target).is_absolute():
        yield f"{target} is no absolute path (DL3045)"
    if len(sources) > 1 and not target.endswith("/"):
        yield "COPY of several files needs a folder, with / at its end (DL3021)"
    for source in sources:
        place = (folder / source).resolve()
        if not place.exists() or not place.is_relative_to(folder.resolve()):
            yield f"{source} is not there beside the Dockerfile"


def _command(rest: str, folder: Path) -> Iterator[str]:
    try:
        words = json.loads(rest)
    except ValueError:
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        yield "use the JSON form (DL3025)"


def _workdir(rest: str, folder: Path) -> Iterator[str]:
    if not PurePosixPath(rest).is_absolute():
        yield "WORKDIR must be absolute (DL3000)"
