"""One thing that is wrong with a spec, before it is known which file it came from."""

from __future__ import annotations

from gym_anything.errors import SpecInvalid


class Problem(Exception):
    """Internal: carried from the place that sees the fault up to the one that knows the file.

    Args:
        key: key path, ``mounts[2].mode``; empty for the file as a whole.
        what: the fault as a predicate: "must be a number".
        fix: what to do.
    """

    def __init__(self, key: str, what: str, fix: str = "") -> None:
        super().__init__(key, what, fix)
        self.key = key
        self.what = what
        self.fix = fix

    def sentence(self) -> str:
        """Return key, fault and fix as one sentence."""
        key = self.key if len(self.key) <= 200 else f"{self.key[:90]} … {self.key[-90:]}"
        text = f"{key} {self.what}" if key else self.what
        return f"{text}; {self.fix}" if self.fix else text


def spec_invalid(origin: str, problems: list[Problem]) -> SpecInvalid:
    """Build the one error for all problems of one file.

    Args:
        origin: the file, or words for data that came from none.
        problems: at least one; the first gives ``detail['key']`` and ``detail['fix']``.
    """
    first = problems[0]
    detail = {
        "file": origin,
        "key": first.key,
        "fix": first.fix,
        "problems": [{"key": p.key, "what": p.what, "fix": p.fix} for p in problems],
    }
    if len(problems) == 1:
        return SpecInvalid(f"{origin}: {first.sentence()}", detail=detail)
    lines = "\n".join(f"  - {p.sentence()}" for p in problems)
    return SpecInvalid(f"{origin}: {len(problems)} things are wrong:\n{lines}", detail=detail)
