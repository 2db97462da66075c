"""For tests of runners, also of those outside this package: the conformance suite, fake worlds, leak checks."""

from gym_anything.testing.conformance.build import build_conformance_case as build_conformance_case
