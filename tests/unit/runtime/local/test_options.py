"""Options of a local world: strict, with near misses named."""

from __future__ import annotations

from typing import Any

import pytest

from gym_anything.runtime.runners.local.options import LocalOptions, option_errors

pytestmark = pytest.mark.unit


def test_the_defaults_are_valid() -> None:
    assert option_errors({}) == []
    assert LocalOptions().sandbox is True


def test_a_near_miss_is_named() -> None:
    (error,) = option_errors({"sandbx": False})
    assert "did you mean 'sandbox'" in error


def test_a_far_miss_lists_what_there_is() -> None:
    (error,) = option_errors({"zzz": 1})
    assert "wallpaper" in error and "panel" in error


@pytest.mark.parametrize(
    "options",
    [
        {"sandbox": "false"},
        {"sandbox": 0},
        {"panel": "kde"},
        {"panel": "tint2", "window_manager": "none"},
        {"window_manager": None},
        {"wallpaper": "sunset"},
        {"wallpaper": "#12345"},
        {"wallpaper": "#12345g"},
        {"host_paths": ["relative"]},
        {"host_paths": ["/"]},
        {"host_paths": ["/opt/../root"]},
        {"host_paths": "/opt"},
        {"start_timeout_s": 0},
        {"start_timeout_s": True},
    ],
)
def test_a_wrong_value_gives_one_sentence(options: dict[str, Any]) -> None:
    (error,) = option_errors(options)
    assert error.startswith(f"runner_options.{next(iter(options))}")


def test_a_list_of_paths_as_a_file_has_it_is_accepted() -> None:
    assert LocalOptions.model_validate({"host_paths": ["/opt/vendor"]}).host_paths == ("/opt/vendor",)
