"""Actions: each is done or refused; none is ignored."""

from __future__ import annotations

import copy
from typing import Any

from gym_anything.errors import ActionError, ActionUnsupported
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.testing.conformance.case import ConformanceCase, is_refusal

UNKNOWN_ACTION = {"action": "gym_anything_conformance_no_such_action", "value": 1}

# Each input of the contract once, in the middle of any screen.
INPUTS: dict[str, dict[str, Any]] = {
    "left_click": {"mouse": {"left_click": [40, 30]}},
    "left_click at the origin": {"mouse": {"left_click": [0, 0]}},
    "right_click": {"mouse": {"right_click": [41, 31]}},
    "middle_click": {"mouse": {"middle_click": [42, 32]}},
    "double_click": {"mouse": {"double_click": [43, 33]}},
    "triple_click": {"mouse": {"triple_click": [44, 34]}},
    "left_click_drag": {"mouse": {"left_click_drag": [[40, 30], [60, 50]]}},
    "right_click_drag": {"mouse": {"right_click_drag": [[60, 50], [40, 30]]}},
    "move": {"mouse": {"move": [50, 40]}},
    "buttons": {"mouse": {"buttons": {"left_down": True}}},
    "buttons again": {"mouse": {"buttons": {"left_up": True}}},
    "scroll": {"mouse": {"scroll": 2}},
    "text": {"keyboard": {"text": "a-0.07 --help Ж\n"}},
    "keys": {"keyboard": {"keys": ["ctrl", "a"]}},
    "keys_down": {"keyboard": {"keys_down": ["shift"]}},
    "keys_up": {"keyboard": {"keys_up": ["shift"]}},
}
MALFORMED: dict[str, dict[str, Any]] = {
    "a point off the screen": {"mouse": {"left_click": [100000, 5]}},
    "a negative point": {"mouse": {"left_click": [-1, 5]}},
    "an unknown key": {"keyboard": {"keys": ["no_such_key_name"]}},
    "a point that is text": {"mouse": {"left_click": ["5", "5"]}},
}


class ActionChecks(ConformanceCase):
    """What goes in."""

    def tearDown(self) -> None:
        shared = type(self)._shared
        if shared is not None:
            self.bounded(shared.release_held_inputs)
        super().tearDown()

    def test_the_authors_actions_are_done(self) -> None:
        self.needs(bool(self.subject.actions), "no actions were given to build_conformance_case")
        runner = self.world()
        for action in self.subject.actions:
            with self.subTest(action=action):
                self.inject(runner, action)

    def test_every_input_is_done_or_refused(self) -> None:
        runner = self.world()
        for name, action in INPUTS.items():
            with self.subTest(name):
                before = self.acknowledged(runner)
                try:
                    self.inject(runner, action)
                except ActionUnsupported:
                    self.assertFalse(self.must_do(action), f"{name} is refused, but the profile promises it")
                    continue
                except Exception as error:
                    if not is_refusal(error) or self.must_do(action):
                        raise
                    continue
                if before is not None:
                    after = self.acknowledged(runner)
                    self.assertTrue(
                        after is not None and after > before, f"{name} was reported done, but no input was acknowledged"
                    )

    def test_an_unknown_action_is_not_ignored(self) -> None:
        runner = self.world()
        before = self.evidence(runner)
        try:
            answer = self.inject(runner, UNKNOWN_ACTION)
        except Exception as error:
            if not is_refusal(error) and not isinstance(error, ValueError | LookupError | TypeError):
                raise
            return
        if answer is None:
            self.assertNotEqual(
                before, self.evidence(runner), "an unknown action was swallowed without a word or a trace"
            )

    def test_malformed_input_is_refused(self) -> None:
        runner = self.world()
        ours = {name: action for name, action in MALFORMED.items() if all(self.subject.takes(kind) for kind in action)}
        self.needs(bool(ours), "the spec declares neither mouse nor keyboard")
        for name, action in ours.items():
            with self.subTest(name), self.assertRaises((ActionError, ActionUnsupported, NotImplementedError)):
                self.inject(runner, action)

    def test_an_action_is_not_changed(self) -> None:
        runner = self.world()
        for action in [*self.subject.actions, *INPUTS.values()]:
            given = copy.deepcopy(dict(action))
            try:
                self.bounded(lambda given=given: runner.inject_action(given))  # type: ignore[misc]
            except Exception as error:
                if not is_refusal(error):
                    raise
            self.assertEqual(given, dict(action))

    def test_releasing_what_is_held_twice_is_harmless(self) -> None:
        runner = self.world()
        self.bounded(runner.release_held_inputs)
        self.bounded(runner.release_held_inputs)

    def inject(self, runner: BaseRunner, action: Any) -> Any:
        """Inject a copy of an action, bounded in time."""
        return self.bounded(lambda: runner.inject_action(copy.deepcopy(dict(action))))

    def must_do(self, action: dict[str, Any]) -> bool:
        """Tell whether the profile and the spec promise this input."""
        return self.subject.requires_desktop() and all(self.subject.takes(kind) for kind in action)

    def acknowledged(self, runner: BaseRunner) -> int | None:
        """Return the number of the last acknowledged input, for worlds that count them."""
        if not (runner.acks_input_delivery() and runner.overrides(["capture_frame"])):
            return None
        return int(self.bounded(runner.capture_frame).after_input)

    def evidence(self, runner: BaseRunner) -> Any:
        """Return what could show that something was done."""
        seen = repr(self.bounded(runner.capture_observation))
        if runner.has_screen():
            return seen, self.bounded(runner.capture_frame).array.tobytes()
        return seen
