"""The wheel in a clean environment far from the checkout: all that a user needs is in it, down to a real episode."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import RequireBackend
from tests.e2e.command_line import CommandLine
from tests.e2e.local_world import require_local_world

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(600)]

REPOSITORY = Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
HEAVY = {"numpy", "PIL", "av", "pydantic", "rich", "yaml"}


class Installation(CommandLine):
    """A virtual environment that has the wheel and what it depends on, and nothing else.

    Attributes:
        environment: its folder. site: its packages. cache: the user's cache folder, empty at first.
    """

    def __init__(self, environment: Path, folder: Path) -> None:
        super().__init__(folder, (str(environment / "bin" / "gym-anything"),))
        self.environment = environment
        self.cache = folder / "cache"
        (self.site,) = (environment / "lib").glob("python*/site-packages")
        foreign = ("GYM_ANYTHING_", "PYTHON", "VIRTUAL_ENV")
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        self.environ |= {"XDG_CACHE_HOME": str(self.cache), "CC": "/bin/false"}

    def python(self, code: str) -> str:
        """Run Python code in the environment and return what it printed."""
        argv = [str(self.environment / "bin" / "python"), "-c", code]
        done = subprocess.run(argv, cwd=self.folder, env=self.environ, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Build the wheel once and install it, with its dependencies from the package index."""
    wheels, environment, folder = (tmp_path_factory.mktemp(name) for name in ("wheels", "environment", "work"))
    build = [*PIP, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(wheels), str(REPOSITORY)]
    subprocess.run(build, check=True, timeout=300)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True, timeout=60)
    python = str(environment / "bin" / "python")
    install = [*PIP, "--python", python, "install", "-q", "--prefer-binary", str(wheel)]
    subprocess.run(install, check=True, timeout=300)
    return Installation(environment, folder)


def test_our_benchmark_is_found_by_name(installed: Installation) -> None:
    rows = {row["benchmark"]: Path(row["root"]) for row in installed.json("list")["benchmarks"]}
    assert rows["desktop_basics"] == installed.site / "benchmarks" / "desktop_basics"
    tasks = installed.json("list", "tasks", "--benchmark", "desktop_basics", "--env", "debian_desktop")["tasks"]
    assert len(tasks) >= 6
    assert not [task for task in tasks if "error" in task]
    assert "desktop_basics" in installed("list")


def test_our_environment_is_valid_where_it_was_installed(installed: Installation) -> None:
    report = installed.json("validate", "debian_desktop", "--benchmark", "desktop_basics")
    assert report["ok"] and report["missing"] == []
    assert Path(report["file"]).is_relative_to(installed.site)


def test_the_import_paths_that_existing_code_uses_are_there(installed: Installation) -> None:
    code = (
        "import gym_anything, agents.agents.base as old, gym_anything.agents.base as new, json\n"
        "from gym_anything import from_config, make, GymAnythingEnv, EnvSpec, TaskSpec\n"
        "from gym_anything.testing import build_conformance_case\n"
        "assert old.BaseAgent is new.BaseAgent\n"
        "print(json.dumps([gym_anything.__file__, gym_anything.__version__]))"
    )
    place, version = json.loads(installed.python(code))
    assert Path(place).is_relative_to(installed.site)
    assert version == installed("--version").split()[-1]


def test_an_import_loads_nothing_heavy(installed: Installation) -> None:
    """What `import gym_anything` costs is measured by `make figures`; this is why it costs so little."""
    loaded = json.loads(installed.python("import gym_anything, sys, json; print(json.dumps(list(sys.modules)))"))
    assert HEAVY & set(loaded) == set()


def test_the_data_files_of_the_key_table_and_the_bundled_agents_are_there(installed: Installation) -> None:
    assert installed.python("from gym_anything.actions.keys import keysym_of; print(keysym_of('PGDN'))") == "65366\n"
    agents = {row["name"]: row for row in installed.json("agents")["agents"]}
    assert {"noop", "oracle", "random"} <= set(agents)
    assert not [row for row in agents.values() if row["problem"]]


def test_the_native_programs_are_bundled_and_used(installed: Installation) -> None:
    code = (
        "from gym_anything.runtime.native.locate import native_program as find\n"
        "print(*(find(name) for name in ('ga-guest', 'ga-desktop', 'ga-wait')))"
    )
    programs = [Path(path) for path in installed.python(code).split()]
    assert {path.parent for path in programs} == {installed.site / "gym_anything" / "_native" / "bin"}
    assert not (installed.cache / "gym-anything" / "native").exists(), "nothing was built after the installation"


def test_an_episode_is_played_and_judged(installed: Installation, require_backend: RequireBackend) -> None:
    require_local_world(require_backend)
    arguments = ("debian_desktop", "--benchmark", "desktop_basics", "--task", "write_note")
    record = installed.json("run", *arguments, "--agent", "oracle", "--fast-io", "--expect", "passed")
    assert (record["status"], record["outcome"]["score"], record["runner"]) == ("passed", 100.0, "local")
    assert Path(record["run_dir"]).is_relative_to(installed.folder)
    failed = installed("run", *arguments, "--agent", "noop", "--steps", "2", "--fast-io", code=1)
    assert failed.startswith("FAILED")
