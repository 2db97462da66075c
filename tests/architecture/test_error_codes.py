"""Error codes are a public wire format: adding is fine, removing or renaming is not."""

from __future__ import annotations

import pytest

from gym_anything import errors

pytestmark = pytest.mark.unit

STABLE_CODES = {
    "process-start-failed",
    "process-stuck",
    "setting-invalid",
    "supervisor-lost",
    "error",
    "spec-error",
    "spec-not-found",
    "spec-invalid",
    "unsupported-feature",
    "action-invalid",
    "plugin-error",
    "plugin-unknown",
    "plugin-conflict",
    "plugin-import-failed",
    "plugin-missing-extra",
    "wrong-state",
    "aborted",
    "host-error",
    "missing-dependency",
    "native-program-missing",
    "deadline-exceeded",
    "world-error",
    "world-start-failed",
    "world-boot-timed-out",
    "world-lost",
    "observation-failed",
    "capture-failed",
    "frame-stale",
    "input-not-delivered",
    "input-delivery-unknown",
    "action-unsupported",
    "guest-command-failed",
    "guest-file-not-found",
    "checkpoint-error",
    "checkpoint-missing",
    "checkpoint-stale",
    "checkpoint-locked",
    "checkpoint-unsupported",
    "agent-error",
    "agent-timed-out",
    "verifier-error",
    "vlm-not-configured",
    "benchmark-error",
    "model-error",
    "model-unavailable",
    "model-budget-spent",
    "pool-error",
    "admission-refused",
    "no-replica",
    "replica-failed",
    "remote-error",
    "unauthorized",
    "unreachable",
    "version-skew",
    "session-lost",
    "bad-wire",
    "unknown-remote-error",
}


def test_no_published_code_is_gone() -> None:
    missing = STABLE_CODES - set(errors.registered_codes())
    assert not missing, f"these codes travelled over the wire before: {missing}"


def test_a_new_code_is_published_here() -> None:
    ours = {c for c, cls in errors.registered_codes().items() if cls.__module__ == "gym_anything.errors"}
    assert ours <= STABLE_CODES, f"add to STABLE_CODES: {ours - STABLE_CODES}"


@pytest.mark.parametrize(("code", "cls"), sorted(errors.registered_codes().items()))
def test_every_error_survives_the_wire(code: str, cls: type[errors.GymAnythingError]) -> None:
    sent = cls("what, where, fix", detail={"file": "x", "n": 3})
    back = errors.from_wire(sent.to_wire())
    assert type(back) is cls or code == "unknown-remote-error"
    assert back.to_wire() == sent.to_wire()
    assert str(back) == "what, where, fix"
    assert cls.blame in errors.BLAMES


def test_an_unknown_code_survives_the_trip_twice() -> None:
    wire = {"code": "from-the-future", "message": "m", "blame": "world", "retryable": True, "detail": {"a": [1]}}
    once = errors.from_wire(wire)
    assert isinstance(once, errors.UnknownRemoteError)
    assert errors.from_wire(once.to_wire()).to_wire() == wire


@pytest.mark.parametrize("wire", [{}, {"code": 3}, {"message": "x"}])
def test_what_is_no_error_is_refused(wire: dict[str, object]) -> None:
    with pytest.raises(errors.BadWire):
        errors.from_wire(wire)


def test_two_classes_cannot_claim_one_code() -> None:
    with pytest.raises(TypeError, match="already taken"):

        class _Thief(errors.GymAnythingError):
            code = "world-lost"


def test_the_tree_in_the_docstring_names_every_class() -> None:
    text = errors.__doc__ or ""
    missing = [
        c.__name__
        for c in errors.registered_codes().values()
        if c.__name__ not in text and c.__module__ == "gym_anything.errors"
    ]
    assert not [m for m in missing if m not in {"CheckpointError"}], missing
