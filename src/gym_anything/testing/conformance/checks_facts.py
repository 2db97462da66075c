"""Facts: what the class says about itself before any world exists."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from gym_anything.runtime.runners.compatibility import RunnerCompatibility
from gym_anything.runtime.runners.facts import get_runner_compatibility
from gym_anything.testing.conformance.case import ConformanceCase
from gym_anything.testing.leaks import LeakCheck

DOCTOR_LIMIT_S = 6.0
_ABILITIES = {
    "fast_io": "supports_fast_io",
    "checkpoint_caching": "supports_checkpoint_caching",
    "savevm": "supports_savevm",
    "live_recording": "supports_live_recording",
    "time_control": "supports_time_control",
    "acks_input_delivery": "acks_input_delivery",
}


class FactsChecks(ConformanceCase):
    """Asked of the class, answered without a world."""

    def test_doctor_status_has_the_agreed_shape_and_is_quick(self) -> None:
        began = time.monotonic()
        status = self.subject.cls.doctor_status()
        self.assertLess(time.monotonic() - began, DOCTOR_LIMIT_S, "doctor_status took too long for everybody's doctor")
        self.assertIsInstance(status, Mapping)
        self.assertIsInstance(status["available"], bool)
        self.assertIsInstance(status.get("deps") or {}, Mapping)
        if not status["available"]:
            self.assertTrue(status.get("reason"), "a world that is not available must say why")

    def test_compatibility_is_one_plain_row(self) -> None:
        row = get_runner_compatibility(self.subject.cls)
        self.assertIsInstance(row, RunnerCompatibility)
        json.dumps(row.to_dict())

    def test_compatibility_and_abilities_agree(self) -> None:
        row = get_runner_compatibility(self.subject.cls).to_dict()
        runner = self.subject.cls(self.subject.spec())
        for fact, method in _ABILITIES.items():
            with self.subTest(fact):
                can = getattr(runner, method)()
                self.assertIsInstance(can, bool)
                if row[fact] is not None:
                    self.assertEqual(can, row[fact], f"{method}() and the compatibility row differ")

    def test_platform_priority_is_between_0_and_100(self) -> None:
        priority = self.subject.cls.platform_priority()
        self.assertIsInstance(priority, int)
        self.assertTrue(0 <= priority <= 100, priority)

    def test_detection_is_answered_for_any_spec(self) -> None:
        self.assertIsInstance(self.subject.cls.autodetect_eligible(self.subject.spec()), bool)
        self.assertIsInstance(self.subject.cls.autodetect_eligible(None), bool)

    def test_cache_components_are_plain_rows(self) -> None:
        for row in self.subject.cls.cache_components():
            for key in ("name", "category", "paths", "desc"):
                self.assertIn(key, row)
            json.dumps(row, default=str)

    def test_the_conformance_profile_is_a_word(self) -> None:
        self.assertIsInstance(self.subject.profile, str)
        self.assertTrue(self.subject.profile)

    def test_building_a_runner_starts_nothing(self) -> None:
        with LeakCheck():
            runner = self.subject.cls(self.subject.spec())
            self.assertEqual(runner.spec.id, self.subject.spec().id)

    def test_unenforced_fields_are_named_with_reasons(self) -> None:
        spec = self.subject.spec(security={"network_allowlist": ["example.test"]})
        for field, reason in self.subject.cls.unenforced_fields(spec):
            self.assertTrue(field and isinstance(field, str))
            self.assertTrue(reason and isinstance(reason, str), f"{field}: no reason")
