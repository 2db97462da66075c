"""The runner ``qemu`` keeps the contract as ``qemu_native`` does; it boots a machine of its own first: a long run."""

from __future__ import annotations

import unittest
from collections.abc import Callable

import pytest

from gym_anything.runtime.qemu.apptainer_emulator import RECIPE
from gym_anything.testing import build_conformance_case
from tests.conformance.test_qemu_runner import ACTIONS, LONG, SPEC
from tests.docker_engine import built


@pytest.fixture(scope="module")
def qemu_image(apptainer_backend: None, require_backend: Callable[[str, bool, str], None]) -> None:
    """QEMU as an image of apptainer's."""
    built(RECIPE, require_backend)


pytestmark = [pytest.mark.real, pytest.mark.soak, pytest.mark.usefixtures("qemu_image")]


def suite() -> type[unittest.TestCase]:
    """Return the suite without what makes disk checkpoints, which is the same code for both runners."""
    case = build_conformance_case("qemu", env_spec=SPEC, actions=ACTIONS, start_limit_s=300)
    for name in LONG & set(unittest.defaultTestLoader.getTestCaseNames(case)):
        setattr(case, name, None)
    return case


QemuInApptainerConformance = suite()
