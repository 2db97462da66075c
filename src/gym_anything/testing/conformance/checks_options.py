"""Options: typos fail when the spec is loaded, not when the world boots."""

from __future__ import annotations

from gym_anything.testing.conformance.case import ConformanceCase

TYPO = "gym_anything_conformance_no_such_option"


class OptionsChecks(ConformanceCase):
    """``runner_options`` as the class checks them."""

    def test_the_specs_own_options_are_accepted(self) -> None:
        self.assertEqual(list(self.subject.cls.validate_options(self.subject.spec())), [])

    def test_a_misspelt_option_is_refused_by_name(self) -> None:
        self.needs(self.subject.cls.overrides(["validate_options"]), "the class declares no options to check")
        options = {**self.subject.spec().runner_options, TYPO: 1}
        problems = list(self.subject.cls.validate_options(self.subject.spec(runner_options=options)))
        self.assertTrue(problems, f"the unknown option {TYPO!r} was accepted")
        self.assertTrue(any(TYPO in problem for problem in problems), f"{problems} do not name the option")

    def test_checking_options_changes_nothing(self) -> None:
        spec = self.subject.spec()
        before = spec.to_dict()
        self.subject.cls.validate_options(spec)
        self.assertEqual(spec.to_dict(), before)

    def test_volatile_options_are_dotted_paths(self) -> None:
        for path in self.subject.cls.volatile_option_paths():
            self.assertIsInstance(path, str)
            self.assertTrue(all(path.split(".")), f"{path!r} is not a dotted path inside runner_options")
