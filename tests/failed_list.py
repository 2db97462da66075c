"""A list of what failed, for `make test-failed`: one test a line, over all runs of pytest since `make test` began.

pytest's own list forgets a test of which only a subtest failed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

NAME = ".failed-tests"


class FailedList:
    """Notes each failure in the process that gathers the reports."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test of which any part failed."""
        if report.failed:
            self._failed[report.nodeid] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot be read."""
        if report.failed:
            self._failed[report.nodeid] = None

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Add them to the list. A run that broke off for another reason cannot be repeated: say so in the list."""
        known = {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED}
        if exitstatus not in known or (exitstatus == pytest.ExitCode.TESTS_FAILED and not self._failed):
            self._failed[f"a-run-that-ended-with-status-{int(exitstatus)}"] = None
        if self._failed:
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(f"{name}\n" for name in self._failed)


def pytest_configure(config: pytest.Config) -> None:
    """Take part, but not in the processes that xdist starts."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailedList(config.rootpath / NAME), "failed-list")
