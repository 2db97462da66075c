"""No step twice, none lost: what the ledger says, and what a sender over a bad line gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything.errors import (
    ActionError,
    CaptureFailed,
    GymAnythingError,
    InputDeliveryUnknown,
    InputNotDelivered,
    StateError,
    WorldLost,
)
from gym_anything.pool.step_ledger import Known, Run, StepLedger, Wait

pytestmark = pytest.mark.unit


def test_a_step_sent_again_gets_what_the_first_one_got() -> None:
    ledger: StepLedger[str] = StepLedger()
    assert ledger.begin(1) == Run()
    ledger.done(1, "a picture")
    assert ledger.begin(1) == Known("a picture")
    assert ledger.begin(2) == Run()


def test_a_step_sent_again_while_it_is_done_waits() -> None:
    ledger: StepLedger[str] = StepLedger()
    ledger.begin(1)
    assert ledger.begin(1) == Wait()


def test_what_was_surely_not_applied_may_be_tried_again() -> None:
    ledger: StepLedger[str] = StepLedger()
    ledger.begin(1)
    ledger.failed(1, InputNotDelivered("the screen is locked"))
    assert ledger.begin(1) == Run()
    ledger.done(1, "a picture")
    assert ledger.begin(1) == Known("a picture")


def test_what_may_have_been_applied_is_not() -> None:
    ledger: StepLedger[str] = StepLedger()
    ledger.begin(1)
    error = InputDeliveryUnknown("no answer")
    ledger.failed(1, error)
    assert ledger.begin(1) == Known(None, error)
    assert ledger.begin(2) == Run(), "the episode may go on"


def test_a_world_that_goes_in_the_middle_of_a_step_leaves_it_unknown() -> None:
    ledger: StepLedger[str] = StepLedger()
    assert ledger.lost("gone") is None
    ledger.begin(1)
    known = ledger.lost("its process ended")
    assert known is not None and isinstance(known.error, InputDeliveryUnknown)
    assert "step 1 may or may not have been applied: its process ended" in str(known.error)
    assert ledger.begin(1) == known


@pytest.mark.parametrize("number", [0, -1, 3, 7])
def test_a_number_that_does_not_follow_is_refused(number: int) -> None:
    ledger: StepLedger[str] = StepLedger()
    ledger.begin(1)
    ledger.done(1, "a")
    with pytest.raises(StateError, match="came where step 2 was due"):
        ledger.begin(number)


def test_nothing_overtakes_a_step() -> None:
    ledger: StepLedger[str] = StepLedger()
    ledger.begin(1)
    with pytest.raises(StateError, match="while step 1 is being done"):
        ledger.begin(2)
    ledger.failed(1, InputNotDelivered("not yet"))
    with pytest.raises(StateError, match="came where step 1 was due"):
        ledger.begin(2)


def test_forgotten_outcomes_are_said_to_be() -> None:
    ledger: StepLedger[int] = StepLedger(keep=2)
    for number in (1, 2, 3):
        ledger.begin(number)
        ledger.done(number, number)
    assert ledger.begin(2) == Known(2)
    with pytest.raises(StateError, match="step 1 is forgotten: 2 outcomes are kept"):
        ledger.begin(1)


def test_outcomes_of_steps_that_are_not_done_are_refused() -> None:
    ledger: StepLedger[int] = StepLedger()
    with pytest.raises(StateError, match="step 1 has ended, but None"):
        ledger.done(1, 1)


class Line:
    """A world behind a line that loses what is sent, or what is answered; it counts what it really did."""

    def __init__(self, faults: list[str]) -> None:
        self.ledger: StepLedger[int] = StepLedger(keep=4)
        self.faults = faults
        self.applied: list[int] = []

    def send(self, number: int) -> int:
        fault = self.faults.pop() if self.faults else ""
        if fault == "lost on its way":
            raise ConnectionError(fault)
        said = self.ledger.begin(number)
        if isinstance(said, Run):
            self._do(number, fault)
            said = self.ledger.begin(number)
        if fault == "answer lost":
            raise ConnectionError(fault)
        assert isinstance(said, Known)
        if said.error is not None:
            raise said.error
        assert said.result is not None
        return said.result

    def _do(self, number: int, fault: str) -> None:
        if fault == "refused":
            error = InputNotDelivered(fault)
            self.ledger.failed(number, error)
            raise error
        if fault == "died before":
            self.ledger.lost(fault)
        elif fault == "died after":
            self.applied.append(number)
            self.ledger.lost(fault)
        else:
            self.applied.append(number)
            self.ledger.done(number, number * 10)


FAULTS = ["", "lost on its way", "answer lost", "refused", "died before", "died after"]


@given(st.lists(st.sampled_from(FAULTS), max_size=60))
def test_over_a_bad_line_nothing_is_done_twice_and_what_is_said_is_true(faults: list[str]) -> None:
    line = Line(list(faults))
    for number in range(1, 9):
        outcome: int | GymAnythingError | None = None
        while outcome is None:
            try:
                outcome = line.send(number)
            except ConnectionError:
                continue
            except GymAnythingError as error:
                outcome = None if error.retryable else error
        if isinstance(outcome, int):
            assert outcome == number * 10 and line.applied.count(number) == 1
        else:
            assert isinstance(outcome, InputDeliveryUnknown) and line.applied.count(number) <= 1
    assert line.applied == sorted(set(line.applied))


@pytest.mark.parametrize("error", [WorldLost("gone"), CaptureFailed("torn"), ActionError("off the screen")])
def test_no_other_error_is_a_reason_to_do_the_same_step_again(error: GymAnythingError) -> None:
    """A picture that failed may follow an input that was applied."""
    ledger: StepLedger[int] = StepLedger()
    ledger.begin(1)
    ledger.failed(1, error)
    assert ledger.begin(1) == Known(None, error)
