"""From a spec to a plan: what is shown, what is promised, what is secret."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gym_anything.runtime.runners.local.command import HostView, WorldPlace, sandbox_plan
from gym_anything.runtime.runners.local.options import LocalOptions
from gym_anything.runtime.runners.local.sandbox.plan import BindPlan, SandboxPlan
from gym_anything.runtime.session.accounts import decide_accounts
from gym_anything.runtime.session.desktop_files import APPLICATIONS
from gym_anything.specs.env_spec import EnvSpec

pytestmark = pytest.mark.unit

HOST = HostView(
    binds=[BindPlan(source="/usr", target="/usr", map_ids=True)],
    links={"/bin": "usr/bin"},
    applications=APPLICATIONS[:2],
    chromium={"/etc/chromium.d/default-flags": "x"},
    guest_program="/b/ga-guest",
    desktop_program="/b/ga-desktop",
    waiter_program="/b/ga-wait",
)


def plan_of(options: dict[str, Any] | None = None, host: HostView = HOST, **fields: Any) -> SandboxPlan:
    spec = EnvSpec.from_dict({"id": "e@1", "base": "debian-desktop", **fields})
    chosen = LocalOptions.model_validate(options or {})
    return sandbox_plan(
        spec,
        chosen,
        host,
        WorldPlace(
            folder="/w", ids={"base_uid": 1, "base_gid": 1, "count": 65535, "how": "root"}, label=(("LABEL", "x"),)
        ),
    )


def text_of(plan: SandboxPlan, path: str) -> str:
    return next(file["text"] for file in plan["files"] if file["path"] == path)


def test_the_same_spec_gives_the_same_plan_but_for_the_salt() -> None:
    def without_shadow(plan: SandboxPlan) -> str:
        return json.dumps({**plan, "files": [f for f in plan["files"] if f["path"] != "/etc/shadow"]})

    assert without_shadow(plan_of()) == without_shadow(plan_of())


def test_the_server_listens_on_no_port_and_on_no_extension_it_need_not_have() -> None:
    session = plan_of()["session"]
    assert session is not None
    argv = session["server_argv"]
    assert argv[:2] == ["Xvnc", ":1"]
    assert argv[argv.index("-rfbport") + 1] == "-1"
    assert argv[argv.index("-nolisten") + 1] == "tcp"
    assert argv[argv.index("-geometry") + 1] == "1920x1080"
    assert argv[argv.index("-extension") + 1] == "GLX"
    assert argv[argv.index("-SecurityTypes") + 1] == "None"


def test_opengl_is_there_when_asked_for() -> None:
    session = plan_of({"opengl": True})["session"]
    assert session is not None and "GLX" not in session["server_argv"]


def test_watching_only_is_enforced_by_the_server() -> None:
    session = plan_of(vnc={"enable": True, "view_only": True})["session"]
    assert session is not None
    assert {"-AcceptKeyEvents=0", "-AcceptPointerEvents=0"} <= set(session["server_argv"])


def test_without_manager_and_panel_neither_is_started() -> None:
    session = plan_of({"window_manager": "none", "panel": "none"})["session"]
    assert session is not None
    assert session["window_manager"] == [] and session["panel"] == []


def test_the_own_display_of_the_account_wins() -> None:
    user = {"name": "ga", "permissions": {"env_vars": {"DISPLAY": ":0", "EDITOR": "vi"}}}
    plan = plan_of(user_accounts=[user])
    session = plan["session"]
    assert session is not None
    assert session["display"] == 0
    assert session["env"]["DISPLAY"] == plan["env"]["DISPLAY"] == ":0"
    assert session["env"]["EDITOR"] == "vi"


def test_a_vnc_password_is_no_part_of_the_plan() -> None:
    """N1: no secret in files."""
    assert "sesame" not in json.dumps(plan_of(vnc={"enable": True, "password": "sesame"}))


def test_who_may_sudo_is_told_by_number() -> None:
    user = {"name": "bob", "permissions": {"sudo_nopasswd": True}}
    argv = plan_of(user_accounts=[user, {"name": "eve"}])["guest_argv"]
    allowed = [argv[i + 1] for i, word in enumerate(argv) if word == "--sudo-uid"]
    assert allowed == ["1000", "1001"]


def test_every_login_shell_has_the_display_and_our_programs_first() -> None:
    profile = text_of(plan_of(), "/etc/profile")
    assert 'export PATH="/opt/gym-anything/bin:' in profile
    assert 'export DISPLAY="${DISPLAY-:1}"' in profile


def test_chromium_keeps_the_host_settings_and_gets_ours() -> None:
    plan = plan_of(observation=[{"type": "rgb_screen"}, {"type": "ui_tree"}])
    assert text_of(plan, "/etc/chromium.d/default-flags") == "x"
    assert "--force-renderer-accessibility" in text_of(plan, "/etc/chromium.d/gym-anything")
    assert "--force-renderer-accessibility" not in text_of(plan_of(), "/etc/chromium.d/gym-anything")


def test_with_one_id_nobody_is_switched_to() -> None:
    from dataclasses import replace

    plan = plan_of(host=replace(HOST, single_id=True))
    session = plan["session"]
    assert session is not None and not session["switch_user"]
    assert {folder["uid"] for folder in plan["folders"]} == {0}


def test_nothing_of_the_host_is_shown_but_what_the_view_says() -> None:
    targets = {bind["target"] for bind in plan_of()["binds"]}
    assert targets == {"/usr", *(f"/opt/gym-anything/{name}" for name in ("ga-guest", "init/ga-guest", "ga-desktop"))}


def test_the_desktop_runs_as_its_own_user() -> None:
    session = plan_of()["session"]
    desktop = decide_accounts([]).desktop
    assert session is not None
    assert session["user"] == [desktop.uid, desktop.gid]
    assert session["switch_user"]
