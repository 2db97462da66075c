"""Outcome, session info, pacing, limits, artifacts as data, interrupts."""

from __future__ import annotations

import errno
import json
import os
import pickle
import signal
from pathlib import Path

import numpy as np
import pytest

from gym_anything._util.secrets import Redactor
from gym_anything.episode.artifacts import EpisodeFolder, plain
from gym_anything.episode.interrupts import interrupts_held
from gym_anything.episode.limits import Limits
from gym_anything.episode.outcome import Outcome
from gym_anything.episode.pacing import choose_pacing
from gym_anything.episode.session import VerifierOverrides
from gym_anything.episode.session_info import SessionInfo
from gym_anything.errors import SpecInvalid, VerifierError, WorldLost

pytestmark = pytest.mark.unit


def test_an_outcome_survives_json() -> None:
    for outcome in (
        Outcome.passed(100, "well done"),
        Outcome.failed(40.5),
        Outcome.broken("world", "it died", {"log_tail": "x"}),
    ):
        assert Outcome.from_dict(json.loads(json.dumps(outcome.as_dict()))) == outcome
    with pytest.raises(ValueError, match="status"):
        Outcome.from_dict({"status": "fine"})


def test_an_error_becomes_an_outcome_with_its_own_blame() -> None:
    lost = Outcome.from_error(WorldLost("gone", detail={"log_tail": "t"}), default_blame="judge", doing="judging")
    assert (lost.status, lost.blame, lost.story) == ("broken", "world", "while judging: gone")
    assert lost.detail == {"code": "world-lost", "retryable": False, "log_tail": "t"}
    assert Outcome.from_error(VerifierError("x"), default_blame="world", doing="y").blame == "judge"
    stranger = Outcome.from_error(KeyError("k"), default_blame="caller", doing="stepping")
    full = OSError(errno.ENOSPC, "No space left on device")
    assert Outcome.from_error(full, default_blame="world", doing="stepping").blame == "host"
    assert Outcome.from_error(FileNotFoundError("x"), default_blame="judge", doing="judging").blame == "judge"
    assert stranger.blame == "caller" and stranger.is_broken and "KeyError" in stranger.story


def test_session_info_never_serialises_passwords() -> None:
    """N1: no secret in artifacts, logs or on the wire."""
    info = SessionInfo("e@1", vnc_password="hunter22", ssh_password="letmein1", resolution=(3, 4), vnc_port=5901)
    assert info.vnc_password == "hunter22"
    for text in (repr(info), json.dumps(info.to_dict()), repr(pickle.loads(pickle.dumps(info)).__dict__), str(info)):
        assert "hunter22" not in text and "letmein1" not in text
    assert pickle.loads(pickle.dumps(info)).vnc_port == 5901
    assert info.to_dict()["resolution"] == [3, 4]
    assert set(info.to_dict()) == {
        "env_id", "task_id", "runner_name", "platform_family", "artifacts_dir", "resolution", "fps",
        "network_enabled", "systemd_enabled", "container_name", "instance_name", "vnc_port", "vnc_url",
        "ssh_port", "ssh_user",
    }  # fmt: skip


def test_pacing_is_chosen_by_name() -> None:
    legacy = choose_pacing("legacy", acknowledges_input=True, step_cycle_s=0.1)
    assert (legacy.after_input_s, legacy.step_cycle_s, legacy.gap_s(0.2), legacy.gap_s(0)) == (2.0, 0.1, 0.2, 0)
    fast = choose_pacing("fast", acknowledges_input=True, step_cycle_s=0.1)
    assert (fast.after_input_s, fast.step_cycle_s, fast.gap_s(0.2), fast.gap_s(0.5)) == (0.0, 0.0, 0.0, 0.5)
    assert choose_pacing("fast", acknowledges_input=False, step_cycle_s=0).gap_s(0.2) == 0.2
    settle = choose_pacing("settle", acknowledges_input=True, step_cycle_s=0.1)
    assert settle.settles and (settle.after_input_s, settle.step_cycle_s) == (0.0, 0.0)
    assert not legacy.settles and not fast.settles
    with pytest.raises(ValueError, match="pacing"):
        choose_pacing("slow", acknowledges_input=True, step_cycle_s=0)


def test_limits_say_which_was_reached() -> None:
    limits = Limits(max_steps=2, timeout_sec=10.0)
    assert limits.reason_to_end(steps=1, elapsed_s=9.9) is None
    assert limits.reason_to_end(steps=2, elapsed_s=20) == "max_steps"
    assert limits.reason_to_end(steps=0, elapsed_s=10) == "timeout"
    assert limits.remaining_s(4) == 6 and limits.remaining_s(40) == 0
    assert Limits().reason_to_end(steps=10**9, elapsed_s=1e9) is None
    assert limits.changed(max_steps=5, timeout_sec=None) == Limits(5, 10.0)


def test_verifier_overrides_are_read_from_dicts_and_keywords() -> None:
    read = VerifierOverrides.read(
        {"mode": "program", "VLM_MODEL": "m"}, mode=None, timeout_sec=3, environment={"A": "b"}
    )
    assert (read.mode, read.timeout_sec, dict(read.environment)) == ("program", 3, {"A": "b", "VLM_MODEL": "m"})
    for wrong in ({"modus": "x"}, {"timeout_sec": 0}, {"timeout_sec": "5"}):
        with pytest.raises(SpecInvalid):
            VerifierOverrides.read(wrong, mode=None, timeout_sec=None, environment=None)


def test_artifacts_are_plain_json_without_pixels_or_secrets(tmp_path: Path) -> None:
    """V8: references, not pixels. N1: no secret."""
    folder = EpisodeFolder(tmp_path, Redactor(["s3cret-value"]))
    folder.append(
        "step",
        {
            "picture": np.zeros((4, 5, 3), np.uint8),
            "number": np.float32(1.5),
            "nan": float("nan"),
            "bytes": b"123",
            "path": Path("/x"),
            "typed": "the s3cret-value, \ud800 and ä",
            "object": object(),
        },
    )
    folder.close()
    folder.append("after", {"still": "written"})
    step, after = [json.loads(line) for line in (folder.path / "traj.jsonl").read_text("utf-8").splitlines()]
    assert step["picture"] == "<array (4, 5, 3)>" and step["number"] == 1.5 and step["nan"] == "nan"
    assert step["bytes"] == "<3 bytes>" and step["path"] == "/x" and step["object"] == "<object>"
    assert step["typed"] == "the [secret], \ud800 and ä"
    assert after["still"] == "written"
    assert list(folder.events("after")) == [after]


def test_plain_keeps_what_json_knows() -> None:
    value = {"a": [1, 2.5, None, True, "x"], "b": {"c": []}}
    assert plain(value) == value


def test_an_interrupt_waits_for_the_clean_up_and_is_not_lost() -> None:
    """L2: a second Ctrl-C during clean-up cuts nothing short."""
    done = []
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interrupts_held():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("cleaned up")
    assert done == ["cleaned up"]
    assert signal.getsignal(signal.SIGINT) is before
