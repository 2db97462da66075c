"""The settings of judges that ask a vision model: each under its names, with its meaning and default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from gym_anything._util import env_vars
from gym_anything.models.endpoint import WireProtocol

T = TypeVar("T")

_OWNER = "verification"
_OURS = "GYM_ANYTHING"


class Backend(StrEnum):
    """Who is asked."""

    LOCAL = "local"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"

    @property
    def protocol(self) -> WireProtocol:
        """How it is spoken to."""
        return "anthropic" if self is Backend.ANTHROPIC else "openai"


LOCAL_URL = "http://localhost:8080/v1"


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One setting under its names.

    Attributes:
        key: in ``success.spec`` of a task; empty where a task has no say.
        special: the variable for checklists.
        general: the variable for every judge that asks a model.
    """

    key: str
    special: env_vars.EnvVar[T | None] | None
    general: env_vars.EnvVar[T | None] | None
    parse: Callable[[str], T]
    default: T | None


def _setting(
    name: str,
    parse: Callable[[str], T],
    default: T | None,
    doc: str,
    *,
    key: str | None = None,
    special: bool = True,
    general: bool = True,
    secret: bool = False,
) -> Setting[T]:
    def variable(prefix: str, what: str) -> env_vars.EnvVar[T | None]:
        return env_vars.declare(prefix + name, parse, None, what, _OWNER, secret=secret)

    said = "none" if default is None else default
    return Setting(
        name.lower() if key is None else key,
        variable(f"{_OURS}_VLM_CHECKLIST_", f"Of checklists, wins over task and VLM_*. {doc}") if special else None,
        variable("VLM_", f"{doc} Default: {said}.") if general else None,
        parse,
        default,
    )


def _fraction(value: str) -> float:
    result = env_vars.number(value)
    if not 0 <= result <= 1:
        raise ValueError("a number from 0 to 1 is needed")
    return result


def _percent(value: str) -> float:
    result = env_vars.number(value)
    if not 0 <= result <= 100:
        raise ValueError("a number from 0 to 100 is needed")
    return result


def _count(value: str) -> int:
    result = env_vars.whole_number(value)
    if result < 1:
        raise ValueError("a whole number of 1 or more is needed")
    return result


BACKEND = _setting(
    "BACKEND",
    env_vars.one_of(*Backend),
    None,
    "Who is asked: local (any server that speaks OpenAI's protocol), openai or anthropic. Unset: local.",
)
MODEL = _setting("MODEL", env_vars.text, None, "The model's name there. Without it no vision model is configured.")
BASE_URL = _setting("BASE_URL", env_vars.text, None, f"Address of the endpoint; local servers: {LOCAL_URL} if unset.")
API_KEY = _setting(
    "API_KEY", env_vars.text, None, "Key for that address; the providers' own keys serve, too.", key="", secret=True
)
MAX_RETRIES = _setting("MAX_RETRIES", _count, 3, "The most tries of one call, and of one answer that makes no sense.")
TIMEOUT = _setting("TIMEOUT", env_vars.not_negative, 120.0, "Seconds for one try.", key="model_timeout_sec")
TEMPERATURE = _setting("TEMPERATURE", env_vars.not_negative, None, "Sampling temperature; unset: the server's own.")
TOP_P = _setting("TOP_P", _fraction, None, "Nucleus sampling; unset: the server's own.")
MAX_TOKENS = _setting("MAX_TOKENS", _count, 8192, "The longest answer, in tokens.")
MAX_IMAGE_SIDE = _setting(
    "MAX_IMAGE_SIDE", _count, 1568, "Pixels; larger screenshots are scaled down for the model.", special=False
)
PRICE_INPUT = _setting(
    "PRICE_INPUT", env_vars.not_negative, None, "US dollars for a million input tokens.", key="", special=False
)
PRICE_OUTPUT = _setting(
    "PRICE_OUTPUT", env_vars.not_negative, None, "US dollars for a million output tokens.", key="", special=False
)
MAX_CALLS = _setting(
    "MAX_CALLS",
    _count,
    50,
    "The most answers that one verdict may ask for, all its judges together.",
    key="",
    special=False,
)
MAX_COST_USD = _setting(
    "MAX_COST_USD", env_vars.not_negative, None, "The most that one verdict may cost; needs both prices.", key="",
    special=False,
)  # fmt: skip
MAX_FRAMES = _setting("MAX_FRAMES", env_vars.whole_number, 24, "The most screenshots shown; 0: all.", general=False)
FRAME_STRATEGY = _setting(
    "FRAME_STRATEGY",
    env_vars.text,
    "first3_every3_last3",
    "Which screenshots: first3_every3_last3, uniform, last or all.",
    general=False,
)
COMPLETION_THRESHOLD = _setting(
    "COMPLETION_THRESHOLD", _percent, None, "Score that passes; else the checklist's own, else 80.", general=False
)
INTEGRITY_THRESHOLD = _setting(
    "INTEGRITY_THRESHOLD", _fraction, None, "Share of integrity items that must pass, else the score is 0; 0.75.",
    general=False,
)  # fmt: skip
CHECKLIST = _setting(
    "CHECKLIST", env_vars.text, "vlm_checklist.json", "File beside the task that is judged by.", general=False
)
CHECKLIST_KEYS = (
    BACKEND, MODEL, BASE_URL, MAX_RETRIES, TIMEOUT, TEMPERATURE, TOP_P, MAX_TOKENS, MAX_IMAGE_SIDE, MAX_FRAMES,
    FRAME_STRATEGY, COMPLETION_THRESHOLD, INTEGRITY_THRESHOLD, CHECKLIST,
)  # fmt: skip
OTHER_KEYS = frozenset({"timeout_sec"})  # of every mode
