"""Where the host does not allow a sandbox it is a refusal with the fix, and nothing is left."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.conftest import RequireBackend

pytestmark = pytest.mark.real

# In a user namespace of its own, whose limits a test may set, as root over nothing.
STARTS = """
import sys
from pathlib import Path
from gym_anything.errors import GymAnythingError
from gym_anything.runtime.runners.local.runner import LocalRunner
from gym_anything._util.state_dir import Run
from tests.integration.local.conftest import spec_of
{setup}
runner = LocalRunner(spec_of(**{fields}))
try:
    runner.start()
    print("started")
except GymAnythingError as error:
    print(error.code, "|", error, "|", error.detail.get("fix"))
finally:
    runner.stop()
print(len(list(Run.current().path.glob("w*"))))
"""


ROOT_OF_LITTLE = ("unshare", "--user", "--map-root-user", "--mount", "--")


def start(setup: str, state: Path, *prefix: str, fields: dict[str, object] | None = None) -> tuple[str, str]:
    """Start a world in another process after ``setup``; return what became of it, and how many folders are left."""
    root = Path(__file__).parents[3]
    env = {**os.environ, "GYM_ANYTHING_STATE_DIR": str(state / "state"), "PYTHONPATH": f"{root}/src:{root}"}
    argv = [*prefix, sys.executable, "-c", textwrap.dedent(STARTS.format(setup=setup, fields=fields or {}))]
    done = subprocess.run(argv, capture_output=True, text=True, env=env, cwd=root, timeout=100, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    said, left = done.stdout.strip().splitlines()[-2:]
    return said, left


@pytest.mark.parametrize(
    ("limit", "hint"), [("max_user_namespaces", "max_user_namespaces"), ("max_net_namespaces", "max_net_namespaces")]
)
def test_without_namespaces_the_fix_is_named(
    local_backend: None, require_backend: RequireBackend, tmp_path: Path, limit: str, hint: str
) -> None:
    require_backend("root", os.geteuid() == 0, "a namespace with limits of its own is made by root here")
    setup = f"Path('/proc/sys/user/{limit}').write_text('0')"
    said, left = start(setup, tmp_path, *ROOT_OF_LITTLE)
    assert said.startswith("missing-dependency")
    assert hint in said and "runner_options" in said
    assert left == "0"


def test_root_that_has_one_id_only_still_gets_a_world(local_backend: None, tmp_path: Path) -> None:
    """As in a container with a user namespace of its own."""
    said, left = start("", tmp_path, *ROOT_OF_LITTLE)
    assert (said, left) == ("started", "0")


def test_a_state_folder_that_cannot_hold_an_overlay_is_named(
    local_backend: None, require_backend: RequireBackend, tmp_path: Path
) -> None:
    """An overlay on an overlay, as in a container."""
    require_backend("root", os.geteuid() == 0, "mounting an overlay needs root here")
    for name in ("lower", "upper", "work", "merged"):
        (tmp_path / name).mkdir()
    options = f"lowerdir={tmp_path}/lower,upperdir={tmp_path}/upper,workdir={tmp_path}/work"
    setup = textwrap.dedent(f"""
        import os, subprocess
        subprocess.run(["mount", "-t", "overlay", "o", "-o", {options!r}, {str(tmp_path / "merged")!r}], check=True)
        os.environ["GYM_ANYTHING_STATE_DIR"] = {str(tmp_path / "merged" / "state")!r}
    """)
    said, left = start(setup, tmp_path, "unshare", "--mount", "--")
    assert said.startswith("missing-dependency"), said
    assert "GYM_ANYTHING_STATE_DIR" in said and "ext4" in said
    assert left == "0"


@pytest.mark.parametrize("sandbox", [True, False])
@pytest.mark.parametrize("name", ["with space and ümlaut", "x" * 120])
def test_any_state_folder_will_do(local_backend: None, tmp_path: Path, name: str, sandbox: bool) -> None:
    """N12: paths with spaces, non-ASCII letters and any length work."""
    said, left = start("", tmp_path / name, fields={"runner_options": {"sandbox": sandbox}, "vnc": {"enable": True}})
    assert (said, left) == ("started", "0")
