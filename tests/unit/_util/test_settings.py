"""Precedence: argument > environment > file > preset > default."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as each
from hypothesis import strategies as st

from gym_anything._util import env_vars
from gym_anything._util.settings import UNSET, given, resolve
from gym_anything.errors import PluginConflict, SettingInvalid

pytestmark = pytest.mark.unit

ORDER = ("argument", "environment", "file", "preset", "default")
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.just([]), st.just(UNSET))


@each(st.fixed_dictionaries(dict.fromkeys(ORDER, VALUES)))
def test_the_first_source_that_says_anything_wins_whatever_it_says(sources: dict[str, Any]) -> None:
    said = [name for name in ORDER if sources[name] is not UNSET]
    if not said:
        with pytest.raises(SettingInvalid, match="steps"):
            resolve("steps", **sources)
        return
    resolved = resolve("steps", **sources)
    assert resolved.source == said[0]
    assert resolved.value is sources[said[0]]


def test_none_zero_and_false_are_values_and_not_absence() -> None:
    for value in (None, 0, False, "", []):
        assert resolve("x", argument=value, default="other").value == value


def test_given_turns_none_into_absence() -> None:
    assert given(None) is UNSET
    assert given(0) == 0


@pytest.fixture
def variable(monkeypatch: pytest.MonkeyPatch) -> env_vars.EnvVar[float]:
    monkeypatch.setattr(env_vars, "_DECLARED", {})
    return env_vars.declare("GYM_ANYTHING_T_S", env_vars.not_negative, 2.5, "Seconds of a test.", "test")


def test_an_unset_or_empty_variable_gives_its_default(variable: env_vars.EnvVar[float]) -> None:
    assert variable.get({}) == 2.5
    assert variable.get({"GYM_ANYTHING_T_S": "  "}) == 2.5
    assert variable.lookup({}) is UNSET


def test_a_variable_is_read_at_the_time_of_asking(
    variable: env_vars.EnvVar[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GYM_ANYTHING_T_S", "7")
    assert variable.get() == 7.0


@pytest.mark.parametrize("text", ["two", "nan", "inf", "-1", "1e999"])
def test_a_value_that_does_not_parse_names_the_variable_and_the_value(
    variable: env_vars.EnvVar[float], text: str
) -> None:
    with pytest.raises(SettingInvalid, match="GYM_ANYTHING_T_S") as caught:
        variable.get({"GYM_ANYTHING_T_S": text})
    assert text in str(caught.value)


def test_a_secret_variable_never_shows_its_value() -> None:
    secret = env_vars.EnvVar("GYM_ANYTHING_KEY", env_vars.whole_number, 0, "A key.", "test", secret=True)
    with pytest.raises(SettingInvalid) as caught:
        secret.get({"GYM_ANYTHING_KEY": "hunter2"})
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_two_owners_cannot_declare_one_variable_but_a_reload_can(variable: env_vars.EnvVar[float]) -> None:
    env_vars.declare(variable.name, env_vars.not_negative, 2.5, variable.doc, "test")
    with pytest.raises(PluginConflict, match="GYM_ANYTHING_T_S"):
        env_vars.declare(variable.name, env_vars.text, "", "Another.", "other")
    assert [declared.name for declared in env_vars.declared()] == [variable.name]


@pytest.mark.parametrize(("text", "value"), [("1", True), ("TRUE", True), ("on", True), ("0", False), ("No", False)])
def test_a_boolean_takes_the_usual_words(text: str, value: bool) -> None:
    assert env_vars.boolean(text) is value


@pytest.mark.parametrize("parse", [env_vars.boolean, env_vars.one_of("qmp", "dbus"), env_vars.whole_number])
@each(text=st.text(max_size=8))
def test_a_parser_returns_or_raises_value_error_and_nothing_else(parse: Any, text: str) -> None:
    try:
        parse(text)
    except ValueError:
        pass
