"""The fenced blocks of a Markdown page, and the file that each stands for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_FILE = re.compile(r"`([\w./-]+)`:\n\n\Z")


@dataclass(frozen=True)
class Snippet:
    """One block.

    Attributes:
        line: where it begins in its page, counted from 1. language: ``python``, ``json`` … or "".
        file: the relative path that the line before it says it is (`` `a/b.py`: ``), or None.
    """

    page: str
    line: int
    language: str
    text: str
    file: str | None


def snippets(page: str) -> list[Snippet]:
    """Return all blocks of a page (its path in the repository), in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        named = _FILE.search(text, 0, match.start())
        line = text.count("\n", 0, match.start()) + 2
        found.append(Snippet(page, line, match[1], match[2], named[1] if named else None))
    return found


def prose(page: str) -> str:
    """Return a page without its code."""
    return _CODE.sub("", _FENCE.sub("", (ROOT / page).read_text(encoding="utf-8")))


def python_snippets(page: str, *, files: bool = False) -> list[Snippet]:
    """Return the Python blocks of a page; those that stand for files only where ``files`` says so."""
    return [s for s in snippets(page) if s.language == "python" and (files or s.file is None)]


def command_lines(page: str) -> list[list[str]]:
    """Return the ``gym-anything …`` lines of the blocks without a language, as words without the program."""
    lines = [line.removeprefix("sudo ") for s in snippets(page) if not s.language for line in s.text.splitlines()]
    return [line.split("#")[0].split()[1:] for line in lines if line.startswith("gym-anything ")]


def write_files(page: str, folder: Path) -> list[Path]:
    """Write every block that stands for a file below ``folder``; scripts are made executable."""
    written = []
    for snippet in snippets(page):
        if snippet.file is not None:
            path = folder / snippet.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(snippet.text, encoding="utf-8")
            path.chmod(0o755 if path.suffix == ".sh" else 0o644)
            written.append(path)
    return written


def run_python(snippet: Snippet, namespace: dict[str, object]) -> None:
    """Run one block in ``namespace``; a traceback names the page and its line."""
    source = "\n" * (snippet.line - 1) + snippet.text
    exec(compile(source, str(ROOT / snippet.page), "exec"), namespace)
