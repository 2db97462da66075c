"""What an agent may do, as a Gymnasium space: one gesture for each step, made from what the spec's ``action`` names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gymnasium import spaces

from gym_anything.errors import ActionError, SpecInvalid, UnsupportedFeature
from gym_anything.specs.env_spec import EnvSpec

MODIFIERS = ("ctrl", "alt", "shift", "super")
_NAMED = "Return Tab Escape BackSpace Delete space Left Right Up Down Home End Page_Up Page_Down"
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
KEYS = (*_NAMED.split(), *(f"F{number}" for number in range(1, 13)), *_LETTERS)
MOST_TURNS = 10
"""Wheel clicks in one action, at most, either way."""
MOST_CHARACTERS = 64
_TYPED = frozenset(chr(code) for code in range(32, 127)) | {"\n", "\t"}

_ALWAYS = ("nothing", "done")
_CLICKS = ("left_click", "double_click", "right_click", "middle_click")
_DRAGS = ("left_click_drag", "right_click_drag")
_MOUSE = (*_CLICKS, *_DRAGS, "move", "scroll")
_KEYBOARD = ("text", "keys")


@dataclass(frozen=True, slots=True)
class Gesture:
    """What a step does: actions as ``env.step`` takes them, and whether the agent says that it is done."""

    actions: Any
    done: bool = False


class ActionMap(Protocol):
    """A space of actions and what each means. Write one to give a policy the actions that suit it."""

    @property
    def space(self) -> spaces.Space[Any]:
        """What a policy chooses from."""

    def gesture(self, action: Any) -> Gesture:
        """Return what an action of the space means. Raises: ActionError."""


class ComputerActions:
    """Mouse and keyboard as a ``Dict`` space.

    ``kind`` (an index of ``kinds``) says what is done; of the other parts those count that belong to it: ``at`` and
    ``to`` (pixels, x and y), ``turn`` (wheel clicks, positive is down), ``text``, ``modifiers`` (of ``MODIFIERS``) and
    ``key`` (an index of ``KEYS``). ``kind`` may also be given by its name.

    Actions as ``env.step`` takes them (a dict without ``kind``, or a list of them) pass as they are, and
    ``{"action": "done"}`` is ``done``: a language model needs no space.
    """

    def __init__(self, spec: EnvSpec) -> None:
        """Take the spec's actions and screen size. Raises: UnsupportedFeature for a spec without mouse and keyboard."""
        width, height = screen_size(spec)
        mouse, keyboard = spec.action_of("mouse") is not None, spec.action_of("keyboard") is not None
        if not mouse and not keyboard:
            raise UnsupportedFeature(
                "the environment takes neither mouse nor keyboard; give actions=, an ActionMap of your own",
                detail={"feature": "action", "fix": "give actions="},
            )
        self.kinds: tuple[str, ...] = (*_ALWAYS, *(_MOUSE if mouse else ()), *(_KEYBOARD if keyboard else ()))
        parts: dict[str, spaces.Space[Any]] = {"kind": spaces.Discrete(len(self.kinds))}
        if mouse:
            parts["at"] = spaces.MultiDiscrete([width, height])
            parts["to"] = spaces.MultiDiscrete([width, height])
            parts["turn"] = spaces.Discrete(2 * MOST_TURNS + 1, start=-MOST_TURNS)
        if keyboard:
            parts["text"] = spaces.Text(MOST_CHARACTERS, min_length=0, charset=_TYPED)
            parts["modifiers"] = spaces.MultiBinary(len(MODIFIERS))
            parts["key"] = spaces.Discrete(len(KEYS))
        self.space = spaces.Dict(parts)

    def gesture(self, action: Any) -> Gesture:
        """See ``ActionMap``. Raises: ActionError for an unknown kind or a part that is missing or out of its range."""
        if not isinstance(action, Mapping):
            return Gesture(action)
        if "kind" not in action:
            done = action.get("action") == "done"
            return Gesture(None if done else action, done)
        kind = self._kind(action["kind"])
        try:
            return self._made(kind, action)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ActionError(f"a {kind} lacks a part or has a wrong one: {type(error).__name__}: {error}") from error

    def _kind(self, given: Any) -> str:
        if isinstance(given, str) and given in self.kinds:
            return given
        if not isinstance(given, str) and 0 <= int(given) < len(self.kinds):
            return self.kinds[int(given)]
        raise ActionError(f"kind is an index or a name of {', '.join(self.kinds)}, not {given!r}")

    def _made(self, kind: str, action: Mapping[str, Any]) -> Gesture:
        match kind:
            case "nothing":
                return Gesture(None)
            case "done":
                return Gesture(None, done=True)
            case drag if drag in _DRAGS:
                return Gesture({"mouse": {drag: [_point(action["at"]), _point(action["to"])]}})
            case "scroll":
                return Gesture({"mouse": {"move": _point(action["at"]), "scroll": int(action["turn"])}})
            case "text":
                return Gesture({"keyboard": {"text": str(action["text"])}})
            case "keys":
                held = [name for name, on in zip(MODIFIERS, action["modifiers"], strict=True) if on]
                return Gesture({"keyboard": {"keys": [*held, KEYS[int(action["key"])]]}})
        return Gesture({"mouse": {kind: _point(action["at"])}})


def screen_size(spec: EnvSpec) -> tuple[int, int]:
    """Return width and height as the spec states them. Raises: SpecInvalid: no world is booted to find out."""
    size = spec.screen_size
    if size is None:
        raise SpecInvalid(
            f"{spec.id}: spaces are known before a world is, so its rgb_screen has to state a resolution",
            detail={"key": "observation", "fix": 'add "resolution": [width, height] to the rgb_screen'},
        )
    return size


def _point(given: Sequence[Any]) -> list[int]:
    x, y = given
    return [int(x), int(y)]
