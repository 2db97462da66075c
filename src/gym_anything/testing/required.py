"""Which backends a test run insists on: a missing one then fails instead of being skipped."""

from __future__ import annotations

from gym_anything._util import env_vars

TEST_REQUIRE = env_vars.declare(
    "GYM_ANYTHING_TEST_REQUIRE",
    str.strip,
    "",
    "Backends whose absence fails a test instead of skipping it: names by comma, 'all', and '-name' to leave one out.",
    "gym_anything.testing.required",
)


def is_required(name: str) -> bool:
    """Tell whether this run insists on a backend."""
    words = [word.strip() for word in TEST_REQUIRE.get().split(",") if word.strip()]
    if f"-{name}" in words:
        return False
    return "all" in words or name in words
