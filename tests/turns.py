"""Which tests several processes may run side by side: files do, but emulated machines, which take whole processors, not.

Read where pytest-xdist is (``-n 3 --dist loadscope``); each group of tests stays in one process.
"""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadScopeScheduling

MACHINES = "machines"
_WITH_MACHINES = ("qemu", "tests/integration/images/test_install", "tests/integration/measure/test_bench_fork")


class Turns(LoadScopeScheduling):  # type: ignore[misc]  # the package has no types
    """Files side by side; all that emulates machines one after another."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """Return what a test is run together with. Pure."""
    file, _, name = nodeid.partition("::")
    if not file.startswith("tests/unit/") and any(word in file for word in _WITH_MACHINES):
        return MACHINES
    group, found, _ = name.partition("[")[0].rpartition("::")
    return f"{file}::{group}" if found else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Turns:
    """See pytest-xdist."""
    return Turns(config, log)
