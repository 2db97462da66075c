"""Which tests run side by side."""

from __future__ import annotations

import pytest

from tests.turns import MACHINES, USERS, group_of

pytestmark = pytest.mark.unit


def test_files_and_classes_are_groups_and_emulated_machines_are_one() -> None:
    assert group_of("tests/integration/desktop/test_life.py::test_a[b::c]") == "tests/integration/desktop/test_life.py"
    assert group_of("tests/conformance/test_fakes.py::Case::test_a") == "tests/conformance/test_fakes.py::Case"
    assert group_of("tests/unit/runtime/qemu/test_qmp.py::test_a") == "tests/unit/runtime/qemu/test_qmp.py"
    for one in (
        "tests/integration/qemu/test_forks.py::test_a",
        "tests/conformance/test_qemu_runner.py::QemuConformance::test_b",
        "tests/integration/images/test_install.py::test_c",
    ):
        assert group_of(one) == MACHINES
    assert group_of("tests/integration/apptainer/test_rootless.py::test_a") == USERS
    assert group_of("tests/integration/docker/test_ordinary_user.py::test_b") == USERS
