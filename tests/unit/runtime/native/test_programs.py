from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything.errors import NativeProgramMissing
from gym_anything.runtime.native import __main__ as command
from gym_anything.runtime.native import build, locate, programs

pytestmark = pytest.mark.unit


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A small tree of C sources."""
    for name, text in {
        "Makefile": "all:\n",
        "common/hash.c": "int hash;\n",
        "tool/sources.mk": "tool_SOURCES := tool/main.c\n",
        "tool/main.c": "int main(void) { return 0; }\n",
        "tool/packages.txt": "# comment\ngcc\n\nmake\n",
        "tool/tests/test_tool.c": "int main(void) { return 0; }\n",
        "tool/README.md": "words\n",
        "other/sources.mk": "other_SOURCES := other/main.c\n",
        "other/main.c": "int main(void) { return 1; }\n",
        "build/tool": "binary",
        "notes/x": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_programs_are_the_folders_with_a_list_of_sources(sources: Path) -> None:
    assert programs.program_names(sources) == ["other", "tool"]


def test_a_build_depends_on_its_own_sources_and_the_shared_ones(sources: Path) -> None:
    files = [str(file.relative_to(sources)) for file in programs.source_files(sources, "tool")]
    assert files == ["Makefile", "common/hash.c", "tool/main.c", "tool/packages.txt", "tool/sources.mk"]


def test_the_digest_changes_with_what_is_built_and_with_nothing_else(sources: Path) -> None:
    before = programs.source_digest(sources, "tool")
    for unrelated in ("other/main.c", "build/tool", "tool/tests/test_tool.c", "tool/README.md"):
        (sources / unrelated).write_text("changed")
        assert programs.source_digest(sources, "tool") == before, unrelated
    digests = {before}
    for related in ("Makefile", "common/hash.c", "tool/main.c"):
        (sources / related).write_text("changed")
        digests.add(programs.source_digest(sources, "tool"))
    (sources / "tool" / "new.h").write_text("")
    digests.add(programs.source_digest(sources, "tool"))
    (sources / "tool" / "new.h").rename(sources / "tool" / "renamed.h")
    digests.add(programs.source_digest(sources, "tool"))
    assert len(digests) == 6


def test_a_build_depends_on_the_files_of_another_program_that_it_lists(sources: Path) -> None:
    (sources / "other" / "uses.txt").write_text("# comment\ntool/main.c\n")
    files = [str(file.relative_to(sources)) for file in programs.source_files(sources, "other")]
    assert files[-1] == "tool/main.c" and "tool/packages.txt" not in files
    before = programs.source_digest(sources, "other")
    (sources / "tool" / "main.c").write_text("changed")
    assert programs.source_digest(sources, "other") != before


def test_the_digest_does_not_depend_on_where_the_sources_lie(
    sources: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    import shutil

    elsewhere = tmp_path_factory.mktemp("else where") / "native"
    shutil.copytree(sources, elsewhere)
    assert programs.source_digest(elsewhere, "tool") == programs.source_digest(sources, "tool")


def test_packages_are_listed_beside_the_sources(sources: Path) -> None:
    assert programs.build_packages(sources, "tool") == ["gcc", "make"]
    assert programs.build_packages(sources, "other") == []


def test_a_program_that_only_some_need_does_not_keep_the_others_from_being_built(
    sources: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (sources / "other" / "optional.txt").write_text("# why\nfar desktops\n")
    assert programs.optional_for(sources, "other") == "far desktops"
    assert programs.optional_for(sources, "tool") is None
    broken = {"other"}

    def build_native(names: list[str]) -> dict[str, Path]:
        if broken & set(names):
            raise NativeProgramMissing("no headers; apt-get install libthing-dev")
        return {name: sources / name for name in names}

    monkeypatch.setattr(programs, "source_root", lambda: sources)
    monkeypatch.setattr(command, "build_native", build_native)
    assert command.main() == 0
    said = capsys.readouterr()
    assert said.out == f"tool: {sources / 'tool'}\n"
    assert said.err == "left out (only far desktops need it): no headers; apt-get install libthing-dev\n"
    broken = {"tool"}
    assert command.main() == 1
    assert "error: no headers" in capsys.readouterr().err


def test_a_build_is_cached_by_digest_and_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = locate.cached_program("tool", "d" * 64)
    assert path == tmp_path / "gym-anything" / "native" / f"{'d' * 32}-{programs.machine()}" / "tool"
    monkeypatch.setattr(programs.platform, "machine", lambda: "other64")
    assert locate.cached_program("tool", "d" * 64) != path


def test_an_unknown_program_names_the_known_ones() -> None:
    with pytest.raises(NativeProgramMissing, match=r"'ga-gest'.*ga-guest"):
        locate.native_program("ga-gest")


def test_a_machine_without_compiler_is_told_the_package_line(
    sources: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(NativeProgramMissing, match="make and cc not found") as caught:
        build.compile_program(sources, "tool", "d" * 64, tmp_path / "out")
    fix = "sudo apt-get install -y gcc make && gym-anything doctor --fix"
    assert fix in str(caught.value) and caught.value.detail["fix"] == fix


def test_only_a_bundled_program_of_the_same_sources_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(programs, "PACKAGE", tmp_path)
    folder = tmp_path / "_native" / "bin"
    folder.mkdir(parents=True)
    (folder / "tool").write_text("")
    assert locate.bundled_program("tool", "abc") is None
    (folder / "tool.digest").write_text(f"abc {programs.machine()}\n")
    assert locate.bundled_program("tool", "abc") == folder / "tool"
    assert locate.bundled_program("tool", "abd") is None
    (folder / "tool.digest").write_text("abc other-machine\n")
    assert locate.bundled_program("tool", "abc") is None
