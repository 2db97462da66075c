"""The generic registry: keys, reserved names, conflicts at first use, entry points, isolation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gym_anything.errors import MissingExtra, PluginConflict, PluginError, UnknownPlugin
from gym_anything.plugins.registry import Registry
from tests.installed_distribution import write_distribution

pytestmark = pytest.mark.unit

GROUP = "gym_anything_test.things"


def as_class(name: str, loaded: object) -> type:
    if not isinstance(loaded, type):
        raise PluginError(f"thing {name!r} is not a class")
    return loaded


class Red: ...


class Blue: ...


@pytest.fixture
def things() -> Registry[type]:
    return Registry(group=GROUP, noun="thing", check=as_class, reserved={"gold": "gold", "iron": ""})


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path


def test_a_registered_key_resolves_to_its_object(things):
    things.register("red", Red)
    assert things.resolve("red") is Red


def test_a_registered_locator_is_loaded_on_use_only(things):
    things.register("late", "no_such_module_xyz:Thing")
    assert things.keys() == ["late"]
    with pytest.raises(UnknownPlugin, match="no_such_module_xyz"):
        things.resolve("late")


def test_a_locator_needs_no_registration(things):
    assert things.resolve("collections:OrderedDict").__name__ == "OrderedDict"


def test_what_is_loaded_is_checked(things):
    with pytest.raises(PluginError, match="not a class"):
        things.resolve("os:path")


def test_the_same_claim_twice_is_no_conflict(things):
    things.register("red", Red)
    things.register("red", Red)
    things.register("red", f"{Red.__module__}:{Red.__qualname__}")
    assert things.resolve("red") is Red


def test_two_different_claims_conflict_at_first_use_and_not_before(things):
    things.register("red", Red)
    things.register("red", Blue)
    things.register("blue", Blue)
    assert things.resolve("blue") is Blue
    with pytest.raises(PluginConflict, match=r"Red.*Blue") as caught:
        things.resolve("red")
    assert len(caught.value.detail["claims"]) == 2


def test_replace_is_the_only_override_and_the_last_one_wins(things):
    things.register("red", Red)
    things.register("red", Blue, replace=True)
    assert things.resolve("red") is Blue
    things.register("red", Red, replace=True)
    assert things.resolve("red") is Red


def test_a_plain_claim_after_a_replacing_one_is_a_conflict(things):
    things.register("red", Red, replace=True)
    things.register("red", Blue)
    with pytest.raises(PluginConflict):
        things.resolve("red")


def test_a_reserved_name_cannot_be_taken_in_silence(things):
    things.register("gold", Red)
    with pytest.raises(PluginConflict, match="reserved name"):
        things.resolve("gold")
    things.register("gold", Red, replace=True)
    assert things.resolve("gold") is Red


def test_a_reserved_name_that_is_not_installed_says_how_to_get_it(things):
    with pytest.raises(MissingExtra, match=r'pip install "gym-anything\[gold\]"') as caught:
        things.resolve("gold")
    assert caught.value.detail["extra"] == "gold"
    assert set(things.missing_reserved()) == {"gold", "iron"}


def test_an_unknown_key_lists_the_known_ones_and_near_misses(things):
    things.register("crimson", Red)
    with pytest.raises(UnknownPlugin, match=r"did you mean 'crimson'.*Known: crimson"):
        things.resolve("crimsen")


@pytest.mark.parametrize("key", ["", " red", "a:b", None, 3])
def test_what_cannot_be_a_key_is_refused_at_once(things, key):
    with pytest.raises(ValueError, match="short name"):
        things.register(key, Red)


@pytest.mark.parametrize("key", ["", "  ", None, 7])
def test_resolving_nothing_is_a_typed_error(things, key):
    with pytest.raises(UnknownPlugin):
        things.resolve(key)


def test_an_entry_point_of_another_distribution_is_found(things, site):
    write_distribution(site, "stranger-one", {GROUP: {"odd": "collections:OrderedDict"}})
    assert things.resolve("odd").__name__ == "OrderedDict"
    assert things.known()[0].source == "entry point of stranger-one"


def test_a_distribution_that_appears_on_the_path_later_is_seen(things, site, tmp_path_factory, monkeypatch):
    assert things.keys() == []
    later = tmp_path_factory.mktemp("later")
    write_distribution(later, "late-comer", {GROUP: {"late": "collections:Counter"}})
    monkeypatch.setattr(sys, "path", [str(later), *sys.path])
    assert things.resolve("late").__name__ == "Counter"


def test_two_distributions_that_claim_one_key_conflict_at_first_use(things, site):
    write_distribution(site, "stranger-one", {GROUP: {"odd": "collections:OrderedDict", "fine": "collections:Counter"}})
    write_distribution(site, "stranger-two", {GROUP: {"odd": "collections:deque"}})
    assert things.resolve("fine").__name__ == "Counter"
    with pytest.raises(PluginConflict, match=r"stranger-one.*stranger-two"):
        things.resolve("odd")
    assert [conflict.detail["key"] for conflict in things.conflicts()] == ["odd"]
    assert next(row for row in things.known() if row.key == "odd").conflict


def test_a_foreign_entry_point_cannot_take_a_reserved_name(things, site):
    write_distribution(site, "squatter", {GROUP: {"gold": "collections:OrderedDict"}})
    with pytest.raises(PluginConflict, match="squatter"):
        things.resolve("gold")


def test_our_own_entry_point_may_have_a_reserved_name(things, site):
    write_distribution(site, "gym-anything", {GROUP: {"gold": "collections:OrderedDict"}})
    assert things.resolve("gold").__name__ == "OrderedDict"


def test_code_conflicts_with_an_entry_point_unless_it_replaces(things, site):
    write_distribution(site, "stranger-one", {GROUP: {"odd": "collections:OrderedDict"}})
    things.register("odd", Red)
    with pytest.raises(PluginConflict, match="in code"):
        things.resolve("odd")
    things.register("odd", Red, replace=True)
    assert things.resolve("odd") is Red
    things.unregister("odd")
    assert things.resolve("odd").__name__ == "OrderedDict"


def test_broken_metadata_hurts_nobody_else(things, site):
    write_distribution(site, "stranger-one", {GROUP: {"odd": "collections:OrderedDict"}})
    broken = site / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_bytes(b"\xff\xfe\x00")
    (broken / "entry_points.txt").write_bytes(b"[unclosed\n\xff=\n= =")
    assert things.resolve("odd").__name__ == "OrderedDict"


def test_an_entry_point_that_cannot_be_imported_fails_alone(things, site):
    write_distribution(site, "stranger-one", {GROUP: {"bad": "no_such_thing_xyz:A", "good": "collections:Counter"}})
    assert things.resolve("good").__name__ == "Counter"
    with pytest.raises(UnknownPlugin, match="no_such_thing_xyz"):
        things.resolve("bad")
