"""What a Docker world does not keep is said when the spec is loaded, and what it keeps is not."""

from __future__ import annotations

from typing import Any

import pytest

from gym_anything.runtime.container.people import preparation
from gym_anything.runtime.container.session import needs_desktop, plan_session
from gym_anything.runtime.runners.docker.options import DockerOptions, option_errors
from gym_anything.runtime.runners.docker.promises import unenforced
from gym_anything.runtime.runners.docker.runner import DockerRunner
from gym_anything.runtime.session.accounts import decide_accounts
from gym_anything.specs.env_spec import EnvSpec

pytestmark = pytest.mark.unit

SCREEN = {"type": "rgb_screen", "resolution": [800, 600]}


def spec_of(**fields: Any) -> EnvSpec:
    return EnvSpec.from_dict({"id": "e@1", "observation": [SCREEN], "action": [{"type": "mouse"}], **fields})


def test_a_spec_of_what_containers_do_has_no_broken_promise() -> None:
    spec = spec_of(
        image="x:1", resources={"cpu": 1, "mem_gb": 1, "gpu": 1, "net": True}, entrypoint="/start.sh",
        mounts=[{"source": "/a", "target": "/b"}], user_accounts=[{"name": "eve"}], vnc={"enable": True},
        security={"privileged": True, "use_systemd": True, "cap_add": ["NET_ADMIN"], "runtime": "runsc", "devices": ["/dev/fuse"]},
    )  # fmt: skip
    assert unenforced(spec) == []


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"security": {"cap_drop": ["ALL"]}}, "security.cap_drop"),
        ({"security": {"cap_drop": ["setuid"]}}, "security.cap_drop"),
        (
            {"resources": {"net": True}, "security": {"network_allowlist": ["a.org"], "privileged": True}},
            "security.network_allowlist",
        ),
        (
            {"resources": {"net": True}, "security": {"network_allowlist": ["a.org"], "cap_add": ["CAP_NET_RAW"]}},
            "security.network_allowlist",
        ),
        ({"apks": ["a.apk"]}, "apks"),
        ({"ssh": {"user": "x"}}, "ssh.user"),
        ({"os_type": "windows"}, "os_type"),
        (
            {"user_accounts": [{"name": "eve", "permissions": {"max_memory": "1G"}}]},
            "user_accounts.eve.permissions.max_memory",
        ),
    ],
)
def test_what_is_not_kept_is_named(fields: dict[str, Any], name: str) -> None:
    assert name in [field for field, _ in unenforced(spec_of(**fields))]


def test_an_empty_allow_list_is_kept_by_no_network_at_all() -> None:
    assert unenforced(spec_of(resources={"net": True}, security={"network_allowlist": []})) == []


def test_unknown_options_are_refused_with_the_near_one() -> None:
    assert option_errors({"pull": "never", "panel": "none"}) == []
    assert option_errors({"pul": "never"}) == [
        "runner_options.pul: a Docker world has no such option; did you mean 'pull'?"
    ]
    assert option_errors({"window_manager": "none"}) == [
        "runner_options.panel: a panel needs a window manager; set panel to 'none', too"
    ]


def test_a_desktop_is_not_asked_of_gvisor() -> None:
    asked = {"image": "x:1", "security": {"runtime": "runsc"}}
    (said,) = DockerRunner.validate_options(spec_of(**asked))
    assert said.startswith("security.runtime: a desktop does not run under gVisor")
    nothing = {"observation": [{"type": "numbers"}], "action": [{"type": "api_call"}]}
    assert DockerRunner.validate_options(spec_of(**asked, **nothing)) == []


def test_detection_takes_it_for_specs_with_an_image_only() -> None:
    assert DockerRunner.autodetect_eligible(spec_of(image="x:1"))
    assert DockerRunner.autodetect_eligible(spec_of(dockerfile="Dockerfile"))
    assert not DockerRunner.autodetect_eligible(spec_of())
    assert not DockerRunner.autodetect_eligible(spec_of(image="x:1", os_type="windows"))


def test_a_world_has_a_desktop_when_anything_of_one_is_asked_for() -> None:
    assert needs_desktop(spec_of())
    assert needs_desktop(spec_of(observation=[{"type": "numbers"}], action=[{"type": "keyboard"}]))
    assert not needs_desktop(spec_of(observation=[{"type": "numbers"}], action=[{"type": "api_call"}]))


def test_the_session_serves_vnc_in_the_shared_folder_and_nowhere_else() -> None:
    spec = spec_of()
    plan = plan_session(spec, DockerOptions(), decide_accounts(spec.user_accounts))
    argv = plan["server_argv"]
    assert argv[argv.index("-rfbunixpath") + 1] == "/run/gym-anything/vnc/socket"
    assert argv[argv.index("-rfbport") + 1] == "-1" and plan["size"] == [800, 600]


def test_homes_and_names_with_odd_letters_are_quoted_for_the_shell() -> None:
    spec = spec_of(user_accounts=[{"name": "eve", "permissions": {"home_dir": "/home/e v'e"}}])
    script = preparation(decide_accounts(spec.user_accounts))
    assert "mkdir -p '/home/e v'\"'\"'e'" in script


def test_importing_the_runner_needs_no_sdk() -> None:
    import subprocess
    import sys

    code = (
        "import sys; sys.modules['docker'] = None\n"
        "from gym_anything.runtime.runners.docker import facts, runner\n"
        "row = facts._engine_row()\n"
        "assert not row['ok'] and 'gym-anything[docker]' in row['fix'], row"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
