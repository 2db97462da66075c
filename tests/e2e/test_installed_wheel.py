"""The wheel alone, unpacked in an empty folder far from the checkout: everything that a user needs is in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.real, pytest.mark.slow]

REPOSITORY = Path(__file__).parents[2]


class Installation:
    """A wheel's content on PYTHONPATH, used from a folder of its own."""

    def __init__(self, site: Path, work: Path) -> None:
        self.site = site
        self._work = work
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GYM_ANYTHING_")}
        self._environ = {**clean, "PYTHONPATH": str(site)}

    def python(self, code: str) -> str:
        return self._run("-c", code)

    def command(self, *arguments: str) -> Any:
        return json.loads(self._run("-m", "gym_anything.cli.main", *arguments, "--json"))

    def _run(self, *arguments: str) -> str:
        argv = [sys.executable, "-P", *arguments]
        done = subprocess.run(argv, cwd=self._work, env=self._environ, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    wheels, site, work = (tmp_path_factory.mktemp(name) for name in ("wheels", "site", "work"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(wheels), str(REPOSITORY)]
    subprocess.run(build, check=True, timeout=300)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", "--target", str(site), str(wheel)], check=True)
    return Installation(site, work)


def test_our_benchmark_is_found_by_name(installed: Installation) -> None:
    (row,) = installed.command("list", "--benchmark", "desktop_basics")["benchmarks"]
    assert Path(row["root"]) == installed.site / "benchmarks" / "desktop_basics"
    tasks = installed.command("list", "tasks", "--benchmark", "desktop_basics", "--env", "debian_desktop")["tasks"]
    assert len(tasks) >= 6
    assert not [task for task in tasks if "error" in task]
    assert (
        installed.site / "benchmarks/desktop_basics/environments/debian_desktop/tasks/write_note/oracle.json"
    ).is_file()


def test_the_import_paths_that_existing_code_uses_are_there(installed: Installation) -> None:
    code = "import gym_anything, agents.agents.base as b; print(gym_anything.__file__, b.BaseAgent.__module__)"
    place, module = installed.python(code).split()
    assert Path(place).is_relative_to(installed.site)
    assert module == "gym_anything.agents.base"


def test_the_data_files_of_the_key_table_and_the_bundled_agents_are_there(installed: Installation) -> None:
    assert installed.python("from gym_anything.actions.keys import keysym_of; print(keysym_of('PGDN'))") == "65366\n"
    assert {"noop", "oracle", "random"} <= {row["name"] for row in installed.command("agents")["agents"]}
