"""The front of the command line: lazy, helpful, with the right exit codes."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from gym_anything.cli import main as front
from gym_anything.cli.episode_options import parse_agent_args, request_template
from gym_anything.cli.main import COMMANDS, cli, run_command_line
from gym_anything.cli.output import print_json
from gym_anything.errors import GymAnythingError, SpecNotFound, WorldLost

pytestmark = pytest.mark.unit


def test_help_lists_every_command_without_importing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [place.partition(":")[0] for place, _ in COMMANDS.values()]
    for module in places:
        monkeypatch.delitem(sys.modules, module, raising=False)
    result = CliRunner().invoke(cli, ["--help"])
    assert result.exit_code == 0
    assert all(name in result.output for name in COMMANDS)
    assert not [module for module in places if module in sys.modules]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_exists_and_has_help(name: str) -> None:
    module, _, attribute = COMMANDS[name][0].partition(":")
    command = getattr(importlib.import_module(module), attribute)
    assert isinstance(command, click.Command)
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0, result.output


def test_the_console_script_leads_here() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["scripts"]["gym-anything"] == "gym_anything.cli.main:main"


def raising(error: BaseException) -> click.Command:
    @click.command()
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (SpecNotFound("there is no x", detail={"fix": "use y"}), 2, "error: there is no x\n  fix: use y"),
        (SpecNotFound("there is no x; use y", detail={"fix": "use y"}), 2, "error: there is no x; use y"),
        (WorldLost("it died"), 1, "error: it died"),
        (click.UsageError("wrong"), 2, "wrong"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_an_error_is_a_line_a_fix_and_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, says: str
) -> None:
    monkeypatch.setattr(front, "cli", raising(error))
    assert run_command_line([]) == code
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.err.count("use y") <= 1
    assert printed.out == ""


def test_a_traceback_is_shown_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "cli", raising(WorldLost("it died")))
    monkeypatch.setenv("GYM_ANYTHING_TRACEBACK", "1")
    with pytest.raises(WorldLost):
        run_command_line([])


def test_output_that_cannot_be_written_is_one_line_and_no_traceback() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device, for a child's descriptor
        command = [sys.executable, "-m", "gym_anything.cli.main", "agents"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: the output cannot be written: No space left on device\n"


def test_an_unknown_command_names_a_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["bencmark"]) == 2
    assert "Did you mean benchmark" in capsys.readouterr().err


def test_agent_arguments_are_json_where_they_parse_and_text_elsewhere() -> None:
    pairs = ["steps=3", "name=a=b", "flag=true", "list=[1, 2]", "text=hello", 'quoted="5"', "empty=", " spaced = x"]
    assert parse_agent_args(pairs) == {
        "steps": 3,
        "name": "a=b",
        "flag": True,
        "list": [1, 2],
        "text": "hello",
        "quoted": "5",
        "empty": "",
        "spaced": " x",
    }
    for wrong in ("steps", "=3", " =3"):
        with pytest.raises(click.BadParameter):
            parse_agent_args([wrong])


def options(**changes: Any) -> dict[str, Any]:
    @click.command()
    def command() -> None: ...

    from gym_anything.cli.episode_options import episode_options

    defaults = {p.name: p.get_default(click.Context(command)) for p in episode_options(command).params}
    defaults["agent_args"] = ()
    return {**{str(k): v for k, v in defaults.items()}, **changes}


def test_the_model_names_the_results_folder_and_reaches_the_agent() -> None:
    assert request_template(options()).model == "noop"
    request = request_template(options(model="m-1"))
    assert (request.model, request.agent_args) == ("m-1", {"model": "m-1"})
    request = request_template(options(agent_args=("model=m-2",)))
    assert (request.model, request.agent_args) == ("m-2", {"model": "m-2"})


@pytest.mark.parametrize(
    ("change", "says"),
    [({"remote_url": "http://x"}, "remote"), ({"agent": "nosuch"}, "nosuch"), ({"runner": "lcoal"}, "local")],
)
def test_what_cannot_be_is_refused_before_anything_starts(change: dict[str, Any], says: str) -> None:
    with pytest.raises(GymAnythingError, match=says) as caught:
        request_template(options(**change))
    assert caught.value.blame == "caller"


def test_json_output_refuses_nan_and_keeps_unicode(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": "Zoë", "path": Path("/x")})
    assert capsys.readouterr().out == '{\n  "name": "Zoë",\n  "path": "/x"\n}\n'
    with pytest.raises(ValueError, match="JSON"):
        print_json(float("nan"))


def test_letters_that_the_terminal_lacks_do_not_end_a_command(tmp_path: Path) -> None:
    """N12: non-ASCII letters in paths work."""
    folder = tmp_path / "mäppchen 東京"
    folder.mkdir()
    (folder / "env.json").write_text('{"id": "größe", "base": "x11-lite"}', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "gym_anything.cli.main", "validate", str(folder)],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in done.stderr and b"m\xe4ppchen ??" in done.stdout
