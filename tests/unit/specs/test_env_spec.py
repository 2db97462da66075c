"""EnvSpec: right values, defaults, refusals, round trips."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gym_anything.errors import SpecError, SpecInvalid, SpecNotFound
from gym_anything.specs import EnvSpec
from tests.unit.specs.minimal import env_data

pytestmark = pytest.mark.unit


def test_a_minimal_environment_has_the_documented_defaults() -> None:
    spec = EnvSpec.from_dict(env_data())
    assert spec.version == "1.0"
    assert (spec.synchronous, spec.step_cycle_ms) == (True, 100)
    assert (spec.recording.enable, spec.recording.output_dir, spec.recording.video_fps) == (True, "./artifacts", 10)
    assert spec.os_type == "linux"
    assert (spec.vnc.enable, spec.resources.net, spec.resources.gpu) == (False, False, 0)
    assert spec.apptainer is None and spec.ssh is None and spec.adb is None and spec.multi_agent is None
    assert spec.hooks.pre_start is None and spec.mounts == () and spec.extras == {}
    assert EnvSpec.from_dict(env_data(apptainer={})).apptainer is not None
    apptainer = EnvSpec.from_dict(env_data(apptainer={})).apptainer
    assert apptainer is not None and (apptainer.contain, apptainer.writable_tmpfs, apptainer.fakeroot) == (
        True,
        True,
        False,
    )


RARE = {
    "image": "debian:12",
    "dockerfile": "docker/Dockerfile",
    "entrypoint": ["/sbin/init", "--log"],
    "apptainer": {"sif": "x.sif", "binds": ["/a:/b"], "overlays": ["o.img"], "extra_start_args": ["--net"], "env": {"A": "1"}},
    "ssh": {"user": "me", "password": "p", "key_file": "~/.ssh/id", "port": 2222, "shell": "bash", "note": "n"},
    "reset_script": "/workspace/reset.sh",
    "hooks": {"reset": "rm -rf /tmp/x && true"},
    "multi_agent": {"roles": ["driver", "navigator"], "turn_based": True},
    "security": {
        "user": "1000:1000", "cap_add": ["NET_ADMIN"], "seccomp_profile": "s.json", "network_allowlist": ["example.test"],
        "secrets_ref": "secrets.json", "stop_timeout": 2.5, "runtime": "runsc",
    },
    "resources": {"cpu": 0.5, "mem_gb": 1.5, "gpu": 1, "net": True},
    "save_paths": ["/home/ga/data"],
    "runner": "pkg.mod:Class",
    "runner_options": {"deep": {"list": [1, {"x": None}]}},
    "observation": [{"type": "rgb_screen", "resolution": [800, 600]}, {"type": "cli_stdout", "lines": 40}, {"type": "telemetry"}],
    "action": [{"type": "voice", "encoding": "pcm16"}, {"type": "keyboard", "events": ["press"]}],
    "vnc": {"enable": True, "host_port": -1, "container_port": 5901, "password": "x", "view_only": True, "fallback_only": True},
    "adb": {"host_port": 5555, "guest_port": 5555, "timeout": 10, "note": ""},
    "avd": {"api_level": 34, "variant": "google_apis", "arch": "x86_64", "device": "pixel_6"},
    "recording": {"video_resolution": [640, 480], "audio_rate": 48000, "force_audio_track": True},
    "user_accounts": [
        {
            "name": "ga", "uid": 1000, "gid": 1000, "shoe_size": 43,
            "permissions": {"sudo": True, "home_permissions": "750", "max_memory": "2G", "max_processes": 100, "env_vars": {"N": "1"}},
        }
    ],
    "default_cache_level": "post_task",
    "default_use_savevm": True,
    "diagnostics": True,
    "display_backend": "xvnc",
    "skip_display_audio_bootstrap": True,
}  # fmt: skip


def test_fields_that_no_public_environment_uses_arrive_and_survive_the_round_trip() -> None:
    data = env_data(**RARE)
    spec = EnvSpec.from_dict(data)
    assert spec.to_dict() == data
    assert EnvSpec.from_dict(spec.to_dict()) == spec
    assert spec.entrypoint == ("/sbin/init", "--log")
    assert spec.multi_agent is not None and spec.multi_agent.roles == ("driver", "navigator")
    assert spec.security.network_allowlist == ("example.test",)
    assert spec.resources.cpu == 0.5
    assert spec.screen_size == (800, 600)
    stdout = spec.observation_of("cli_stdout")
    assert stdout is not None and stdout.lines == 40  # type: ignore[attr-defined]
    assert spec.user_accounts[0].shoe_size == 43  # type: ignore[attr-defined]
    assert spec.action_of("voice") is not None and spec.action_of("mouse") is None


def test_defaults_can_be_written_out_and_read_back() -> None:
    spec = EnvSpec.from_dict(env_data())
    full = spec.to_dict(defaults=True)
    assert full["recording"]["video_codec"] == "libx264" and full["hooks"] == {
        "pre_start": None,
        "post_start": None,
        "reset": None,
    }
    assert EnvSpec.from_dict(full) == spec


def test_unknown_top_level_keys_are_kept_as_extras_and_written_back_where_they_were() -> None:
    data = env_data(base_qcow2="x.qcow2", deep={"a": [1, None]}, extras={"mine": 1})
    spec = EnvSpec.from_dict(data)
    assert spec.extras == {"base_qcow2": "x.qcow2", "deep": {"a": [1, None]}, "mine": 1}
    assert spec.to_dict() == data


def test_a_spec_is_frozen_and_apart_from_the_dict_it_came_from() -> None:
    data = env_data(runner_options={"a": {"b": 1}})
    spec = EnvSpec.from_dict(data)
    data["runner_options"]["a"]["b"] = 2
    assert spec.runner_options == {"a": {"b": 1}}
    with pytest.raises(ValidationError):
        spec.id = "other"  # type: ignore[misc]
    spec.to_dict()["runner_options"]["a"]["b"] = 3
    assert spec.runner_options == {"a": {"b": 1}}


def test_null_means_not_given() -> None:
    spec = EnvSpec.from_dict(env_data(hooks=None, mounts=None, vnc={"password": None, "host_port": None}, version=None))
    assert spec == EnvSpec.from_dict(env_data(vnc={}))


def test_a_number_as_version_becomes_text() -> None:
    assert EnvSpec.from_dict(env_data(version=0.1)).version == "0.1"


def test_passwords_are_in_the_spec_but_in_no_repr_and_no_public_dict() -> None:
    spec = EnvSpec.from_dict(
        env_data(
            vnc={"password": "vnc-pw"}, ssh={"password": "ssh-pw"}, user_accounts=[{"name": "a", "password": "acc-pw"}]
        )
    )
    assert spec.vnc.password == "vnc-pw"
    for text in (repr(spec), str(spec), str(spec.public_dict())):
        assert "-pw" not in text
    assert spec.public_dict()["vnc"]["password"] == "***"


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"id": 7}, "id", "write text"),
    ({"id": ""}, "id", "should have at least 1 character"),
    ({"id": None}, "id", "add it"),
    ({"observation": []}, "observation", "at least 1 item"),
    ({"action": None}, "action", "name a `base`"),
    ({"action": [{}]}, "action[0].type", "add it"),
    ({"observation": {"type": "x"}}, "observation", "write a list"),
    ({"observation": [{"type": "rgb_screen", "resolution": [0, 5]}]}, "observation[0].resolution[0]", "it is 0 now"),
    ({"observation": [{"type": "rgb_screen", "resolution": [1, 2, 3]}]}, "observation[0].resolution", "2 items"),
    ({"observation": [{"type": "rgb_screen", "resolution": [5]}]}, "observation[0].resolution", "too few"),
    ({"observation": [{"type": "rgb_screen", "resolution": [True, 5]}]}, "observation[0].resolution[0]", "whole number"),
    ({"observation": [{"type": "rgb_screen", "fps": "10"}]}, "observation[0].fps", "write a number"),
    ({"observation": [{"type": "rgb_screen", "inline": 0}]}, "observation[0].inline", "write true or false"),
    ({"mounts": [{"source": "a", "target": "/b"}, {"source": "a", "target": "b"}]}, "mounts[1].target", "/workspace/data"),
    ({"mounts": [{"source": "a", "target": "/b", "mode": "rx"}]}, "mounts[0].mode", "'ro' or 'rw'"),
    ({"mounts": [{"source": "a", "traget": "/b"}]}, "mounts[0].traget", "did you mean 'target'?"),
    ({"resources": {"cpu": 0}}, "resources.cpu", "greater than 0"),
    ({"resources": {"cpu": True}}, "resources.cpu", "write a number"),
    ({"resources": {"cpu": float("nan")}}, "resources.cpu", "finite number"),
    ({"resources": {"gpu": 0.5}}, "resources.gpu", "write a whole number"),
    ({"resources": {"net": "yes"}}, "resources.net", "write true or false"),
    ({"resources": {"memory_gb": 4}}, "resources.memory_gb", "known here: cpu, mem_gb, gpu, net"),
    ({"resources": []}, "resources", "write an object"),
    ({"vnc": {"host_port": 70000}}, "vnc.host_port", "less than or equal to 65535"),
    ({"vnc": {"enabled": True}}, "vnc.enabled", "did you mean 'enable'?"),
    ({"hooks": {"preStart": "x"}}, "hooks.preStart", "did you mean 'pre_start'?"),
    ({"hooks": "x.sh"}, "hooks", "write an object"),
    ({"os_type": "beos"}, "os_type", "'linux', 'windows', 'android' or 'macos'"),
    ({"default_cache_level": "default"}, "default_cache_level", "'post_task'"),
    ({"step_cycle_ms": -1}, "step_cycle_ms", "greater than or equal to 0"),
    ({"multi_agent": {"roles": ["a", "a"]}}, "multi_agent.roles", "names a role twice"),
    ({"category": {"a": 1}}, "category", "text or a list of texts"),
    ({"tags": "one"}, "tags", "write a list"),
    ({"tags": [1]}, "tags[0]", "write text"),
    ({"runner_options": [1]}, "runner_options", "write an object"),
    ({"runner_options": {"x": {1: 2}}}, "runner_options.x", "put the key in quotes"),
    ({"runner_options": {"x": object()}}, "runner_options.x", "a spec cannot hold"),
    ({"extras": 3}, "extras", "write an object"),
    ({"description": "\ud800"}, "description", "lone surrogate"),
    ({"user_accounts": [{"name": "a", "permissions": {"sudo_nopass": True}}]}, "user_accounts[0].permissions.sudo_nopass",
     "did you mean 'sudo_nopasswd'?"),
    ({"user_accounts": [{"name": "a:x:0:0"}]}, "user_accounts[0].name", "must not start with '-' nor hold ':'"),
    ({"user_accounts": [{"name": "a\nroot2"}]}, "user_accounts[0].name", "control characters"),
    ({"user_accounts": [{"name": "a", "permissions": {"groups": ["-g"]}}]}, "user_accounts[0].permissions.groups[0]",
     "must not start with '-'"),
    ({"user_accounts": [{"name": "a", "permissions": {"home_dir": "/h\nx"}}]}, "user_accounts[0].permissions.home_dir",
     "one line"),
    ({"security": {"cap_drop": "ALL"}}, "security.cap_drop", "write a list"),
    ({"base": 5}, "base", "name of a preset"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "key", "words"), WRONG, ids=[f"{key}-{i}" for i, (_, key, _) in enumerate(WRONG)])
def test_a_wrong_value_is_one_error_with_file_key_and_fix(change: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(SpecInvalid) as caught:
        EnvSpec.from_dict(env_data(**change), origin="some/env.json")
    error = caught.value
    assert error.detail["file"] == "some/env.json" and error.detail["key"] == key
    assert error.detail["fix"], "a fix is owed"
    assert str(error).startswith("some/env.json: ") and words in str(error)
    assert isinstance(error, ValueError) and error.blame == "content"


def test_an_account_may_have_a_space_and_any_letters_in_its_name() -> None:
    """N12."""
    spec = EnvSpec.from_dict(env_data(user_accounts=[{"name": "Jürgen Maß"}, {"name": "OFFICE\\anna"}]))
    assert [account.name for account in spec.user_accounts] == ["Jürgen Maß", "OFFICE\\anna"]


def test_several_faults_are_all_named_in_one_error() -> None:
    with pytest.raises(SpecInvalid) as caught:
        EnvSpec.from_dict({"id": 1, "vnc": {"x": 1}, "mounts": 3})
    assert [p["key"] for p in caught.value.detail["problems"]] == ["id", "mounts", "vnc.x", "observation", "action"]


def test_no_error_shows_a_password() -> None:
    with pytest.raises(SpecInvalid) as caught:
        EnvSpec.from_dict(
            env_data(vnc={"password": ["hunter2"]}, ssh={"password": {"x": "hunter2"}, "port": "hunter2" * 20})
        )
    assert "hunter2" not in str(caught.value) and "hunter2" not in str(caught.value.detail)
    assert caught.value.__cause__ is None


def test_data_that_contains_itself_is_refused() -> None:
    options: dict[str, Any] = {}
    options["again"] = options
    with pytest.raises(SpecInvalid, match="nested deeper"):
        EnvSpec.from_dict(env_data(runner_options=options))


@pytest.mark.parametrize("data", [None, 3, "x", [], [["id", "x"]]])
def test_what_is_no_object_is_refused(data: Any) -> None:
    with pytest.raises(SpecInvalid, match="must be an object"):
        EnvSpec.from_dict(data)


def test_overrides_are_shallow_except_for_four_groups() -> None:
    spec = EnvSpec.from_dict(
        env_data(resources={"cpu": 2, "net": True}, vnc={"enable": True, "view_only": True}, recording={"video_fps": 5})
    )
    changed = spec.with_overrides(
        {"resources": {"cpu": 4}, "vnc": {"password": "x"}, "recording": {"enable": False}, "synchronous": False}
    )
    assert (changed.resources.cpu, changed.resources.net) == (4, True)
    assert (changed.recording.enable, changed.recording.video_fps) == (False, 5)
    assert (changed.vnc.enable, changed.vnc.password) == (False, "x")
    assert changed.synchronous is False and spec.synchronous is True


@pytest.mark.parametrize("key", ["id", "version"])
def test_identity_cannot_be_overridden(key: str) -> None:
    spec = EnvSpec.from_dict(env_data())
    with pytest.raises(SpecInvalid) as caught:
        spec.with_overrides({key: "other"})
    assert caught.value.detail["key"] == key
    assert spec.with_overrides({"id": "e@1"}) == spec


def test_an_unknown_preset_lists_the_known_ones_and_the_near_miss() -> None:
    with pytest.raises(SpecNotFound) as caught:
        EnvSpec.from_dict(env_data(base="ubuntu-gnome-system"))
    text = str(caught.value)
    assert "did you mean 'ubuntu-gnome-systemd'?" in text and "debian-desktop" in text and "windows-11" in text
    assert isinstance(caught.value, SpecError | LookupError)
