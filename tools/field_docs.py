"""The docstrings under the fields of a class, which Python itself does not keep: read from the source."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FieldDoc:
    """One field as its class writes it: the annotation's text, and the docstring below it ("" for none)."""

    annotation: str
    text: str


def field_docs(cls: type) -> dict[str, FieldDoc]:
    """Return the fields that ``cls`` itself declares, in order."""
    source = Path(inspect.getsourcefile(cls) or "").read_text(encoding="utf-8")
    (node,) = (n for n in ast.parse(source).body if isinstance(n, ast.ClassDef) and n.name == cls.__name__)
    found = {}
    for statement, after in zip(node.body, [*node.body[1:], ast.Pass()], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found[statement.target.id] = FieldDoc(ast.unparse(statement.annotation), _docstring(after))
    return found


def _docstring(node: ast.stmt) -> str:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return " ".join(str(node.value.value).split()) if is_text else ""  # type: ignore[attr-defined]


def table_cell(text: str) -> str:
    """Return text as one cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def summary(obj: object) -> str:
    """Return the first paragraph of a docstring in one line, in Markdown."""
    return " ".join((inspect.getdoc(obj) or "").split("\n\n")[0].split()).replace("``", "`")
