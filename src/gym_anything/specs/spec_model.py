"""The three kinds of spec model: strict sub-objects, open list items, and the tolerant top level."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gym_anything.specs.document import plain_copy

PASSWORD_SHOWN_AS = "***"


def _without_nulls(cls: type[BaseModel], data: Any) -> Any:
    """Drop nulls at known keys: ``key: null`` means "not given", so the default applies."""
    if not isinstance(data, dict):
        return data
    known = {field.alias or name for name, field in cls.model_fields.items()}
    return {k: v for k, v in data.items() if v is not None or k not in known}


class SpecObject(BaseModel):
    """A sub-object of a spec. Refuses unknown keys: what nobody reads must not look as if it worked."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, data: Any) -> Any:
        return _without_nulls(cls, data)


class OpenSpecObject(SpecObject):
    """An item of a list that others extend (observations, actions, accounts). Unknown keys are kept as attributes."""

    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)


class TopLevelSpec(BaseModel):
    """A whole file. Unknown keys are kept (see ``extras``) and survive ``to_dict``; near misses are warned about."""

    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    written_extras: dict[str, Any] = Field(default_factory=dict, alias="extras")
    """The file's own ``extras`` object: free data for the author's tools. Empty by default."""

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, data: Any) -> Any:
        return _without_nulls(cls, data)

    @property
    def extras(self) -> dict[str, Any]:
        """Return everything this version has no field for: unknown top-level keys, then the ``extras`` object."""
        return {**(self.model_extra or {}), **self.written_extras}

    @classmethod
    def known_keys(cls) -> tuple[str, ...]:
        """Return the top-level keys that have a meaning, in the order of the documentation."""
        return tuple(field.alias or name for name, field in cls.model_fields.items())

    def to_dict(self, *, defaults: bool = False) -> dict[str, Any]:
        """Return plain JSON data; ``from_dict`` of it gives an equal spec.

        Args:
            defaults: also write the fields that nobody set.
        """
        dumped = self.model_dump(mode="json", by_alias=True, exclude_unset=not defaults)
        result = plain_copy(dumped)
        assert isinstance(result, dict)
        if "extras" in result:
            result["extras"] = result.pop("extras")  # last, where people look for it
        return result

    def public_dict(self) -> dict[str, Any]:
        """Return ``to_dict()`` with every password replaced; for artifacts, logs and reports."""
        shown = _masked(self.to_dict())
        assert isinstance(shown, dict)
        return shown


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: PASSWORD_SHOWN_AS if k == "password" and v is not None else _masked(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_masked(v) for v in value]
    return value
