"""The pytest plugin with the fixture ``no_leaks``.

Enable it with ``pytest_plugins = ["gym_anything.testing.pytest_leaks"]`` in the root ``conftest.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gym_anything.testing.leaks import LeakCheck, LeakFound


@pytest.fixture
def no_leaks() -> Iterator[LeakCheck]:
    """Fail the test when it leaves processes, fds, threads, ports, shared memory or temporary files behind."""
    check = LeakCheck()
    check.begin()
    yield check
    try:
        check.end()
    except LeakFound as leak:
        pytest.fail(str(leak), pytrace=False)
