"""The desktop service's wire format: the client's half of ``native/ga-desktop/protocol.def``.

A test reads that file and compares every code, constant and field below with it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gym_anything.actions.keys import keysym_of
from gym_anything.actions.model import (
    Buttons,
    Click,
    Drag,
    InputOp,
    KeysDown,
    KeysUp,
    Move,
    PressKeys,
    Scroll,
    TypeText,
)
from gym_anything.errors import ActionError, BadWire


@dataclass(frozen=True)
class Dialect:
    """What a link must know of the protocol that it speaks."""

    constants: Mapping[str, int]
    messages: Mapping[str, int]
    errors: Mapping[int, str]
    fields: Mapping[str, struct.Struct]
    names: Mapping[int, str] = field(init=False)
    """Code to name of each message."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", {code: name for name, code in self.messages.items()})


CONSTANTS = {
    "MAGIC": 0x31444147,
    "VERSION": 2,
    "NONCE_SIZE": 32,
    "PROOF_SIZE": 32,
    "MIN_TOKEN_SIZE": 16,
    "MAX_TOKEN_SIZE": 256,
    "MAX_BODY": 1 << 20,
    "MAX_OPS": 4096,
    "MAX_KEYS": 16,
    "MAX_CLICKS": 16,
    "MAX_SCROLL": 10000,
    "MAX_BOXES": 16,
    "MAX_SETTLE_MS": 3_600_000,
    "SLOTS": 8,
    "LEASES": 64,
    "ROLE_FRAMES": 1,
    "ROLE_INPUT": 2,
    "FEATURE_SHARED_MEMORY": 1,
    "FRAME_FRESH": 1,
    "FRAME_POINTER": 2,
    "FRAME_COPY": 4,
    "FRAME_NEW_MAPPING": 8,
    "FRAME_REGION": 16,
    "SETTLE_LEARN": 1,
    "ELSEWHERE_PRESSES": 1,
    "ELSEWHERE_POINTER": 2,
    "ELSEWHERE_KEYS": 4,
    "ELSEWHERE_KEYS_NEXT": 8,
    "BUTTON_LEFT": 1,
    "BUTTON_MIDDLE": 2,
    "BUTTON_RIGHT": 3,
}
MESSAGES = {
    "HELLO": 1,
    "CHALLENGE": 2,
    "PROOF": 3,
    "WELCOME": 4,
    "FAILED": 5,
    "FRAME_REQUEST": 16,
    "FRAME": 17,
    "SETTLE": 18,
    "SETTLED": 19,
    "FRAME_DONE": 20,
    "REGION": 21,
    "REGION_READY": 22,
    "INPUT": 32,
    "INPUT_ACK": 33,
    "POINTER_REQUEST": 34,
    "POINTER": 35,
    "RELEASE": 36,
    "RELEASED": 37,
}
OPS = {
    "MOVE": 1,
    "CLICK": 2,
    "DRAG": 3,
    "BUTTON": 4,
    "SCROLL": 5,
    "TEXT": 6,
    "PRESS": 7,
    "KEYS_DOWN": 8,
    "KEYS_UP": 9,
    "ELSEWHERE": 10,
}
ERRORS = {
    1: "bad-wire",
    2: "version-skew",
    3: "unauthorized",
    4: "admission-refused",
    5: "world-lost",
    6: "capture-failed",
    7: "action-invalid",
    8: "action-unsupported",
    9: "input-not-delivered",
    10: "input-delivery-unknown",
}

# Fixed fields of each message and op, of the header and of the structures in the mapping; names as in protocol.def.
FIELDS = {
    "HEADER": struct.Struct("<IHHQ"),
    "HELLO": struct.Struct("<III32s"),
    "CHALLENGE": struct.Struct("<I32s32s"),
    "PROOF": struct.Struct("<32s"),
    "WELCOME": struct.Struct("<IIHH"),
    "FAILED": struct.Struct("<II"),
    "FRAME_REQUEST": struct.Struct("<I"),
    "FRAME": struct.Struct("<IIQQQQHH"),
    "SETTLE": struct.Struct("<IIII"),
    "SETTLED": struct.Struct("<II"),
    "FRAME_DONE": struct.Struct("<"),
    "REGION": struct.Struct("<I"),
    "REGION_READY": struct.Struct("<QIIII"),
    "REGION_BOX": struct.Struct("<HHHHI"),
    "BOX": struct.Struct("<HHHH"),
    "INPUT": struct.Struct("<I"),
    "INPUT_ACK": struct.Struct("<QiiI"),
    "POINTER_REQUEST": struct.Struct("<"),
    "POINTER": struct.Struct("<ii"),
    "RELEASE": struct.Struct("<"),
    "RELEASED": struct.Struct("<"),
    "MOVE": struct.Struct("<ii"),
    "CLICK": struct.Struct("<iiBB"),
    "DRAG": struct.Struct("<iiiiB"),
    "BUTTON": struct.Struct("<BB"),
    "SCROLL": struct.Struct("<ii"),
    "TEXT": struct.Struct("<I"),
    "PRESS": struct.Struct("<B"),
    "KEYS_DOWN": struct.Struct("<B"),
    "KEYS_UP": struct.Struct("<B"),
    "ELSEWHERE": struct.Struct("<B"),
    "MAPPING": struct.Struct("<IIIIIIIIQQII"),
    "SLOT": struct.Struct("<QQQQ"),
    "REGION_HEAD": struct.Struct("<IIQQQ"),
}
DIALECT = Dialect(CONSTANTS, MESSAGES, ERRORS, FIELDS)
_BUTTON_NUMBERS = {"left": 1, "middle": 2, "right": 3}
_LARGEST_COORDINATE = 0x7FFF  # the X server's coordinates have 16 bits


def input_body(ops: Sequence[InputOp]) -> bytes:
    """Return the body of an INPUT message.

    Raises: ActionError when the batch is larger than a message can be, or an op says what no desktop can do.
    """
    parts = [part for op in ops for part in _encode(op)]
    if len(parts) > CONSTANTS["MAX_OPS"]:
        raise ActionError(f"one action may have {CONSTANTS['MAX_OPS']} parts, this one has {len(parts)}")
    body = FIELDS["INPUT"].pack(len(parts)) + b"".join(parts)
    if len(body) > CONSTANTS["MAX_BODY"]:
        raise ActionError(
            f"one action may have {CONSTANTS['MAX_BODY']} bytes of text and keys, this one has {len(body)}; split it",
            detail={"bytes": len(body), "limit": CONSTANTS["MAX_BODY"]},
        )
    return body


def elsewhere_body(kinds: int) -> bytes:
    """Return the body of an INPUT message that says of input by other hands. Args: kinds: ``ELSEWHERE_*`` together."""
    return FIELDS["INPUT"].pack(1) + _op("ELSEWHERE", kinds)


def settle_body(
    quiet_ms: float, max_ms: float, boxes: Sequence[tuple[int, int, int, int]], *, learn: bool = False
) -> bytes:
    """Return the body of a SETTLE message. Raises: ValueError for what it cannot hold."""
    limit = CONSTANTS["MAX_SETTLE_MS"]
    if not (0 <= quiet_ms <= limit and 0 <= max_ms <= limit):
        raise ValueError(f"quiet_ms and max_ms must lie in 0..{limit}, got {quiet_ms} and {max_ms}")
    if len(boxes) > CONSTANTS["MAX_BOXES"]:
        raise ValueError(f"at most {CONSTANTS['MAX_BOXES']} boxes can be ignored, got {len(boxes)}")
    if any(not 0 <= value <= 0xFFFF for box in boxes for value in box):
        raise ValueError(f"boxes are x, y, width, height in pixels, got {list(boxes)}")
    head = FIELDS["SETTLE"].pack(round(quiet_ms), round(max_ms), CONSTANTS["SETTLE_LEARN"] * learn, len(boxes))
    return head + b"".join(FIELDS["BOX"].pack(*box) for box in boxes)


def settled_boxes(tail: bytes) -> list[tuple[int, int, int, int]]:
    """Return the boxes behind a SETTLED message: x, y, width, height. Raises: BadWire."""
    size = FIELDS["BOX"].size
    if len(tail) % size or len(tail) > CONSTANTS["MAX_BOXES"] * size:
        raise BadWire("the desktop service sent a SETTLED with something else than boxes behind it")
    return list(FIELDS["BOX"].iter_unpack(tail))


def _encode(op: InputOp) -> Iterable[bytes]:
    match op:
        case Click(button, x, y, count):
            if not 1 <= count <= CONSTANTS["MAX_CLICKS"]:
                raise ActionError(f"a click is 1 to {CONSTANTS['MAX_CLICKS']} presses, not {count}")
            yield _op("CLICK", _place(x), _place(y), _BUTTON_NUMBERS[button], count)
        case Move(x, y):
            yield _op("MOVE", _place(x), _place(y))
        case Drag(button, start, end):
            places = [_place(value) for value in (*start, *end)]
            yield _op("DRAG", *places, _BUTTON_NUMBERS[button])
        case Buttons(changes):
            for name, down in changes:
                yield _op("BUTTON", _BUTTON_NUMBERS[name], int(down))
        case Scroll(dx, dy):
            if max(abs(dx), abs(dy)) > CONSTANTS["MAX_SCROLL"]:
                raise ActionError(f"one action may scroll by {CONSTANTS['MAX_SCROLL']}, not {dx}, {dy}")
            yield _op("SCROLL", dx, dy)
        case TypeText(text):
            data = _utf8(text)
            yield _op("TEXT", len(data)) + data
        case PressKeys(keys):
            yield _keys("PRESS", keys)
        case KeysDown(keys):
            yield _keys("KEYS_DOWN", keys)
        case KeysUp(keys):
            yield _keys("KEYS_UP", keys)
        case _:
            raise ActionError(f"not an input op: {op!r:.80}")


def _op(name: str, *values: int) -> bytes:
    return bytes([OPS[name]]) + FIELDS[name].pack(*values)


def _place(value: int) -> int:
    if not 0 <= value <= _LARGEST_COORDINATE:
        raise ActionError(f"coordinate {value} is off the screen")
    return value


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ActionError(f"no key types {text[error.start]!r} (half of a surrogate pair)") from error


def _keys(name: str, keys: Sequence[str]) -> bytes:
    if not 1 <= len(keys) <= CONSTANTS["MAX_KEYS"]:
        raise ActionError(f"1 to {CONSTANTS['MAX_KEYS']} keys can be pressed together, not {len(keys)}")
    return _op(name, len(keys)) + struct.pack(f"<{len(keys)}I", *(keysym_of(key) for key in keys))
