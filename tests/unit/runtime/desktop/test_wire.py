"""The client speaks the protocol that ``native/ga-desktop/protocol.def`` defines."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

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
from gym_anything.errors import ActionError, BadWire, registered_codes
from gym_anything.runtime.desktop import wire

pytestmark = pytest.mark.unit

DEFINITION = (Path(__file__).parents[4] / "native" / "ga-desktop" / "protocol.def").read_text(encoding="utf-8")
FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i32": "i"}


def entries(kind: str) -> dict[str, int]:
    return {name: int(value, 0) for name, value in re.findall(rf"\b{kind}\((\w+), (0x[0-9a-f]+|\d+)\)", DEFINITION)}


def defined_formats() -> dict[str, str]:
    constants = entries("CONSTANT")
    found = {}
    for name, body in re.findall(r"#define GD_(?:FIELDS_)?(\w+)\(FIELD(?:, ARRAY)?\) ?(.*)", DEFINITION):
        parts = re.findall(r"FIELD\((\w+), \w+\)|ARRAY\(u8, \w+, GD_(\w+)\)", body)
        found[name] = "<" + "".join(FORMATS[kind] if kind else f"{constants[size]}s" for kind, size in parts)
    return found


def test_every_message_and_op_has_the_code_of_the_definition() -> None:
    assert entries("MESSAGE") == wire.MESSAGES
    assert entries("OP") == wire.OPS


def test_every_layout_is_that_of_the_definition() -> None:
    assert {name: fields.format for name, fields in wire.FIELDS.items()} == defined_formats()


def test_every_constant_we_use_has_the_value_of_the_definition() -> None:
    defined = entries("CONSTANT")
    assert {name: defined.get(name) for name in wire.CONSTANTS} == wire.CONSTANTS


def test_every_error_is_one_of_ours() -> None:
    defined = re.findall(r'\bERROR\((\w+), (\d+), "([a-z-]+)"\)', DEFINITION)
    assert {int(number): code for _, number, code in defined} == wire.ERRORS
    assert set(wire.ERRORS.values()) <= set(registered_codes())


def ops_of(*ops: InputOp) -> bytes:
    body = wire.input_body(ops)
    return body[wire.FIELDS["INPUT"].size :]


@pytest.mark.parametrize(
    ("op", "encoded"),
    [
        (Move(0, 0), b"\x01" + struct.pack("<ii", 0, 0)),
        (Click("middle", 5, 1079, 2), b"\x02" + struct.pack("<iiBB", 5, 1079, 2, 2)),
        (Drag("right", (1, 2), (3, 4)), b"\x03" + struct.pack("<iiiiB", 1, 2, 3, 4, 3)),
        (Buttons((("left", True), ("right", False))), b"\x04\x01\x01\x04\x03\x00"),
        (Scroll(-2, 7), b"\x05" + struct.pack("<ii", -2, 7)),
        (TypeText("é😀"), b"\x06" + struct.pack("<I", 6) + "é😀".encode()),
        (PressKeys(("Control_L", "c")), b"\x07\x02" + struct.pack("<II", keysym_of("Control_L"), ord("c"))),
        (KeysDown(("Shift_L",)), b"\x08\x01" + struct.pack("<I", keysym_of("Shift_L"))),
        (KeysUp(("U20AC",)), b"\x09\x01" + struct.pack("<I", 0x010020AC)),
    ],
)
def test_each_op_is_encoded_as_defined(op: InputOp, encoded: bytes) -> None:
    assert ops_of(op) == encoded


def test_a_batch_counts_its_parts() -> None:
    body = wire.input_body([Buttons((("left", True), ("left", False))), Move(1, 1)])
    assert wire.FIELDS["INPUT"].unpack_from(body) == (3,)


@pytest.mark.parametrize(
    "op",
    [
        Click("left", -1, 5),
        Click("left", 5, 40000),
        Click("left", 5, 5, 0),
        Drag("left", (0, 0), (0, -3)),
        Scroll(0, 10001),
        TypeText("\ud800"),
        TypeText("x" * (1 << 20)),
        PressKeys(()),
        PressKeys(("a",) * 17),
        PressKeys(("NoSuchKey",)),
        "left_click",
    ],
)
def test_what_no_desktop_can_do_is_refused(op: InputOp) -> None:
    with pytest.raises(ActionError):
        wire.input_body([op])


@pytest.mark.parametrize(
    ("quiet_ms", "max_ms", "boxes"),
    [(-1, 5, []), (5, 1e9, []), (float("nan"), 5, []), (1, 1, [(0, 0, 1, 1)] * 17), (1, 1, [(-1, 0, 1, 1)])],
)
def test_a_settle_that_makes_no_sense_is_refused(
    quiet_ms: float, max_ms: float, boxes: list[tuple[int, int, int, int]]
) -> None:
    with pytest.raises(ValueError, match=r"must lie|can be ignored|boxes are"):
        wire.settle_body(quiet_ms, max_ms, boxes)


def test_a_settle_names_boxes_and_whether_to_learn_and_gets_boxes_back() -> None:
    body = wire.settle_body(100, 2000.4, [(1, 2, 3, 4)], learn=True)
    assert body == struct.pack("<IIII4H", 100, 2000, 1, 1, 1, 2, 3, 4)
    assert wire.settle_body(0, 0, []) == struct.pack("<IIII", 0, 0, 0, 0)
    assert wire.settled_boxes(struct.pack("<8H", *range(8))) == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert wire.settled_boxes(b"") == []


@pytest.mark.parametrize("tail", [b"\0" * 7, b"\0" * 8 * 17])
def test_a_settled_with_something_else_than_boxes_is_bad_wire(tail: bytes) -> None:
    with pytest.raises(BadWire, match="boxes"):
        wire.settled_boxes(tail)
