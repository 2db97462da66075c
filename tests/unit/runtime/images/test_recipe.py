"""Recipes are data: read, extended, checked, and known by a digest of all that decides over a build."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything.errors import SpecInvalid, SpecNotFound
from gym_anything.runtime.images.build_progress import stage_of
from gym_anything.runtime.images.recipe import Recipe, load_recipe, recipe_names, recipe_root
from gym_anything.runtime.images.rootfs import mmdebstrap_argv, plan_build

pytestmark = pytest.mark.unit

BASE = "about: a\npackages: [sudo]\nusers: [{name: ga, uid: 1000}]\n"


def write(root: Path, name: str, text: str) -> None:
    (root / name).mkdir()
    (root / name / "recipe.yaml").write_text(text)


def digest(recipe: Recipe) -> str:
    return recipe.digest(suite="bookworm", programs={"ga-guest": "1"})


def test_the_bundled_recipes_load_and_have_the_desktop_user() -> None:
    names = recipe_names(recipe_root())
    assert {"debian-desktop", "debian-minimal"} <= set(names)
    for name in names:
        assert any(user.name == "ga" for user in load_recipe(name).users), name


def test_a_recipe_adds_to_the_one_it_extends(tmp_path: Path) -> None:
    write(tmp_path, "base", BASE + "programs: [ga-guest]\n")
    write(tmp_path, "more", "about: b\nextends: base\npackages: [less, sudo]\n")
    (tmp_path / "more" / "files" / "etc").mkdir(parents=True)
    (tmp_path / "more" / "files" / "etc" / "motd").write_text("hello")
    recipe = load_recipe("more", tmp_path)
    assert (recipe.about, recipe.packages, recipe.programs) == ("b", ("less", "sudo"), ("ga-guest",))
    assert [(path, mode) for path, mode, _ in recipe.files()] == [("etc/motd", 0o644)]


def test_the_upper_recipe_s_file_wins_over_the_lower_one_s(tmp_path: Path) -> None:
    write(tmp_path, "base", BASE)
    write(tmp_path, "more", "about: b\nextends: base\n")
    for name in ("base", "more"):
        (tmp_path / name / "files").mkdir()
        (tmp_path / name / "files" / "x").write_text(name)
    ((_, _, path),) = load_recipe("more", tmp_path).files()
    assert path.read_text() == "more"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a list\n", "keys and values"),
        ("about: [\n", "cannot be read as YAML"),
        ("about: a\nusers: []\n", "every image has the user 'ga'"),
        (BASE + "packges: [sudo]\n", "packges"),
        (BASE.replace("[sudo]", "['sudo; rm -rf /']"), "is not the name of a Debian package"),
        (BASE.replace("[sudo]", "['-x']"), "is not the name of a Debian package"),
    ],
)
def test_a_wrong_recipe_is_refused_with_its_file(tmp_path: Path, text: str, said: str) -> None:
    write(tmp_path, "bad", text)
    with pytest.raises(SpecInvalid, match=said) as caught:
        load_recipe("bad", tmp_path)
    assert str(tmp_path / "bad" / "recipe.yaml") in str(caught.value)


def test_unknown_and_circular_recipes_are_refused_and_the_known_ones_listed(tmp_path: Path) -> None:
    write(tmp_path, "base", BASE + "extends: base\n")
    with pytest.raises(SpecNotFound, match="extends itself"):
        load_recipe("base", tmp_path)
    with pytest.raises(SpecNotFound, match="'desktop' does not exist; there are: base"):
        load_recipe("desktop", tmp_path)


def test_the_digest_follows_everything_that_decides_over_a_build(tmp_path: Path) -> None:
    write(tmp_path, "base", BASE)
    recipe = load_recipe("base", tmp_path)
    known = digest(recipe)
    assert digest(recipe.model_copy(update={"about": "other words"})) == known
    changed = [
        recipe.model_copy(update={"packages": ("less", "sudo")}),
        recipe.model_copy(update={"users": (recipe.users[0].model_copy(update={"password": "secret"}),)}),
        recipe.model_copy(update={"leave_out": ("/usr/share/doc/*",)}),
    ]
    assert len({known, *map(digest, changed)}) == 4
    assert recipe.digest(suite="trixie", programs={"ga-guest": "1"}) != known
    assert recipe.digest(suite="bookworm", programs={"ga-guest": "2"}) != known


def test_the_digest_follows_the_content_of_files_and_not_where_they_lie(tmp_path: Path) -> None:
    digests = []
    for folder, text in (("one", "same"), ("two", "same"), ("three", "other")):
        root = tmp_path / folder
        root.mkdir()
        write(root, "base", BASE)
        (root / "base" / "files").mkdir()
        (root / "base" / "files" / "x").write_text(text)
        digests.append(digest(load_recipe("base", root)))
    assert digests[0] == digests[1] != digests[2]


def test_a_release_that_recipes_are_not_made_for_is_refused() -> None:
    with pytest.raises(SpecInvalid, match="bookworm or trixie, not of 'sid'"):
        plan_build(Recipe(name="x", about="", users=({"name": "ga", "uid": 1000},)), "sid")  # type: ignore[arg-type]


def test_the_command_line_names_packages_release_and_what_is_left_out() -> None:
    recipe = load_recipe("debian-minimal")
    argv = mmdebstrap_argv("/usr/bin/mmdebstrap", recipe, "trixie")
    assert argv[0] == "/usr/bin/mmdebstrap" and argv[-2:] == ["trixie", "-"]
    assert "--include=procps,sudo" in argv and "--dpkgopt=path-exclude=/usr/share/man/*" in argv


def test_progress_is_what_mmdebstrap_last_said() -> None:
    assert (
        stage_of("I: automatically chosen mode: root\nI: running apt-get update...\ndone\n") == "running apt-get update"
    )
    assert stage_of("W: something\n") == ""
