"""Which tests several processes may run side by side: files do; emulated machines, which take whole processors, and
ordinary users, who are made and removed in the host's own tables, come one after another.

Read where pytest-xdist is (``-n 3 --dist loadscope``); each group of tests stays in one process.
"""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadScopeScheduling

MACHINES, USERS = "machines", "users"
_APART = {
    MACHINES: ("qemu", "tests/integration/images/test_install", "tests/integration/measure/test_bench_fork"),
    USERS: ("test_rootless", "test_ordinary_user"),
}


class Turns(LoadScopeScheduling):  # type: ignore[misc]  # the package has no types
    """Files side by side, each group of what is apart one after another."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """Return what a test is run together with. Pure."""
    file, _, name = nodeid.partition("::")
    for together, words in _APART.items():
        if not file.startswith("tests/unit/") and any(word in file for word in words):
            return together
    group, found, _ = name.partition("[")[0].rpartition("::")
    return f"{file}::{group}" if found else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Turns:
    """See pytest-xdist."""
    return Turns(config, log)
