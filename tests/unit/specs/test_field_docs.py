"""Every field of every spec model has a docstring of its own (law 5), and the JSON schema can be written."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from tools.field_docs import field_docs

import gym_anything.specs
from gym_anything.specs import EnvSpec, TaskSpec
from gym_anything.specs.spec_model import SpecObject, TopLevelSpec

pytestmark = pytest.mark.unit

FOLDER = Path(gym_anything.specs.__file__).parent


def models() -> list[type[SpecObject] | type[TopLevelSpec]]:
    found = []
    for path in sorted(FOLDER.glob("*.py")):
        module = importlib.import_module(f"gym_anything.specs.{path.stem}") if path.stem != "__init__" else None
        for value in vars(module).values() if module else ():
            if (
                isinstance(value, type)
                and issubclass(value, SpecObject | TopLevelSpec)
                and value.__module__ == module.__name__
            ):
                found.append(value)
    return found


@pytest.mark.parametrize("model", models(), ids=lambda m: m.__name__)
def test_every_field_has_a_docstring_and_every_model_too(model: type[SpecObject]) -> None:
    assert model.__doc__
    docs = field_docs(model)
    own = [name for name in model.model_fields if name in model.__annotations__]
    assert [name for name in own if name not in docs or not docs[name].text.endswith((".", "!"))] == []


def test_the_models_are_all_there() -> None:
    assert {"EnvSpec", "TaskSpec", "Resources", "Mount", "Vnc", "UserAccount", "Permissions"} <= {
        m.__name__ for m in models()
    }


@pytest.mark.parametrize("model", [EnvSpec, TaskSpec], ids=lambda m: m.__name__)
def test_the_json_schema_can_be_written(model: type[TopLevelSpec]) -> None:
    schema = model.model_json_schema(by_alias=True)
    assert set(model.known_keys()) == set(schema["properties"]) and json.dumps(schema)
