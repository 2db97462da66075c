"""Locators: what they name, and how each way of failing is told apart."""

from __future__ import annotations

import collections
from pathlib import Path

import pytest

from gym_anything.errors import PluginImportFailed, UnknownPlugin
from gym_anything.plugins.locator import is_locator, load_locator

pytestmark = pytest.mark.unit


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write a module of a unique name and return that name."""

    def write(text: str, name: str = "located_module") -> str:
        monkeypatch.syspath_prepend(str(tmp_path))
        (tmp_path / f"{name}.py").write_text(text)
        return name

    yield write
    import sys

    for loaded in [name for name in sys.modules if name.startswith("located_")]:
        del sys.modules[loaded]


def test_a_locator_names_an_attribute():
    assert load_locator("collections:OrderedDict") is collections.OrderedDict


def test_a_locator_may_name_a_nested_class(module):
    name = module("class Outer:\n    class Inner:\n        pass\n")
    assert load_locator(f"{name}:Outer.Inner").__qualname__ == "Outer.Inner"


def test_only_a_colon_makes_a_locator():
    assert is_locator("a.b:C")
    assert not is_locator("qemu_native")


@pytest.mark.parametrize("text", ["a:", ":B", "a:b:c", "a b:C", "a..b:C", "a:b()", "1a:B", "a:B\n", "../x:B", "a.:B"])
def test_what_is_no_locator_is_refused_with_the_right_form(text):
    with pytest.raises(UnknownPlugin, match=r"package\.module:Name"):
        load_locator(text)


def test_a_missing_module_names_the_module_and_the_python():
    with pytest.raises(UnknownPlugin, match="no module 'no_such_package'") as caught:
        load_locator("no_such_package.runner:Runner")
    assert "python" in str(caught.value)


def test_a_missing_submodule_is_not_taken_for_a_missing_package():
    with pytest.raises(UnknownPlugin, match=r"no module 'json\.nope'"):
        load_locator("json.nope:Runner")


def test_a_missing_attribute_suggests_near_ones():
    with pytest.raises(UnknownPlugin, match="did you mean 'OrderedDict'"):
        load_locator("collections:OrderedDikt")


@pytest.mark.parametrize(
    "line", ["raise RuntimeError('boom')", "import sys; sys.exit(3)", "x = (", "import no_dep_xyz"]
)
def test_a_module_that_fails_to_import_keeps_its_cause(module, line):
    name = module(line + "\n", name="located_broken")
    with pytest.raises(PluginImportFailed) as caught:
        load_locator(f"{name}:Runner")
    assert caught.value.__cause__ is not None
    assert name in str(caught.value)


def test_an_interrupt_during_import_is_not_swallowed(module):
    name = module("raise KeyboardInterrupt\n", name="located_interrupted")
    with pytest.raises(KeyboardInterrupt):
        load_locator(f"{name}:Runner")
