"""Whose an instance is, read from where apptainer keeps its settings."""

from __future__ import annotations

import json

import pytest

from gym_anything._util.labels import ENV_NAME, Label, Owner
from gym_anything.runtime.apptainer.orphans import label_in

pytestmark = pytest.mark.unit

LABEL = Label("rabc", "wdef", Owner(7, 99, "c4d23ca2", 4026531836))


def config(**inside: str) -> str:
    settings = {"engineConfig": {"jsonConfig": {"apptainerEnv": {"LANG": "C", **inside}}}}
    return json.dumps(settings, separators=(",", ":"))


def test_an_instance_of_ours_is_known_by_the_label_it_gives_its_programs() -> None:
    assert label_in(config(**{ENV_NAME: str(LABEL)})) == LABEL


@pytest.mark.parametrize("text", ["", config(), config(**{ENV_NAME: "no label"}), f"{ENV_NAME}={LABEL}"])
def test_an_instance_of_somebody_else_is_not_taken_for_ours(text: str) -> None:
    assert label_in(text) is None
