"""Secrets: variables for every guest command, from a file that ``security.secrets_ref`` names.

Their values never leave the two places below: they are in no dump, repr, error, log, artifact, checkpoint key or wire
message. Give them to ``_util.secrets.Redactor`` so that output that repeats them is scrubbed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from gym_anything.specs.document import join, kind_of
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.problem import Problem, spec_invalid
from gym_anything.specs.reading import read_document

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class SecretEnv(Mapping[str, str]):
    """Variables whose values do not show: ``repr`` and ``str`` give the names only, and pickling is refused."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"SecretEnv({', '.join(self._values)})"

    def __deepcopy__(self, memo: dict[int, Any]) -> SecretEnv:
        return self  # nothing in it changes

    def __reduce__(self) -> Any:
        raise TypeError("secrets are not pickled")


def load_secrets(spec: EnvSpec, env_root: str | Path) -> SecretEnv:
    """Return the variables of the file that the spec names; empty when it names none.

    Args:
        env_root: the environment's folder; the file lies inside it.
    Raises: SpecNotFound when the file is missing; SpecInvalid when it is not a flat object of texts and numbers.
        Neither shows a value.
    """
    name = spec.security.secrets_ref
    if name is None:
        return SecretEnv()
    inside = PurePosixPath(name)
    try:
        if inside.is_absolute() or ".." in inside.parts or "\0" in name:
            raise Problem("security.secrets_ref", "leaves the environment's folder", "name a file beside the spec")
    except Problem as problem:
        raise spec_invalid(str(env_root), [problem]) from None
    file = Path(env_root) / inside
    document = read_document(file)
    try:
        return SecretEnv({key: _value(key, value) for key, value in document.data.items()})
    except Problem as problem:
        raise spec_invalid(str(file), [problem]) from None


def attach_secrets(spec: EnvSpec, secrets: Mapping[str, str]) -> EnvSpec:
    """Return the spec with the secrets in reach of its runner (``spec.security.resolved_env``)."""
    security = spec.security.model_copy()
    security._secret_env = SecretEnv(secrets)
    return spec.model_copy(update={"security": security})


def _value(key: str, value: Any) -> str:
    if not _VARIABLE.fullmatch(key):
        raise Problem(join("", key), "is not the name of a variable", "use letters, digits and _, no digit first")
    if isinstance(value, str) and "\0" not in value:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    what = "holds a NUL character" if isinstance(value, str) else f"is {kind_of(value)}"
    raise Problem(key, what, "write text in quotes")
