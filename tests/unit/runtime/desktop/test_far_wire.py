"""The client speaks the protocol that ``native/ga-gate/protocol.def`` defines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gym_anything.actions.model import Move
from gym_anything.errors import registered_codes
from gym_anything.runtime.desktop import far_wire, wire

pytestmark = pytest.mark.unit

DEFINITION = (Path(__file__).parents[4] / "native" / "ga-gate" / "protocol.def").read_text(encoding="utf-8")
FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i32": "i"}


def entries(kind: str) -> dict[str, int]:
    return {name: int(value, 0) for name, value in re.findall(rf"\b{kind}\((\w+), (0x[0-9a-f]+|\d+)\)", DEFINITION)}


def defined_formats() -> dict[str, str]:
    constants = entries("CONSTANT")
    found = {}
    for name, body in re.findall(r"#define GG_FIELDS_(\w+)\(FIELD, ARRAY\) ?(.*)", DEFINITION):
        parts = re.findall(r"FIELD\((\w+), \w+\)|ARRAY\(u8, \w+, GG_(\w+)\)", body)
        found[name] = "<" + "".join(FORMATS[kind] if kind else f"{constants[size]}s" for kind, size in parts)
    return found


def test_every_message_has_the_code_of_the_definition() -> None:
    assert entries("MESSAGE") == far_wire.MESSAGES


def test_every_layout_is_that_of_the_definition() -> None:
    assert {name: fields.format for name, fields in far_wire.OWN_FIELDS.items()} == defined_formats()
    assert set(far_wire.OWN_FIELDS) == set(far_wire.MESSAGES)


def test_every_constant_we_use_has_the_value_of_the_definition() -> None:
    defined = entries("CONSTANT")
    assert {name: defined.get(name) for name in far_wire.CONSTANTS} == far_wire.CONSTANTS


def test_every_error_is_one_of_ours() -> None:
    defined = re.findall(r'\bERROR\((\w+), (\d+), "([a-z-]+)"\)', DEFINITION)
    assert {int(number): code for _, number, code in defined} == far_wire.OWN_ERRORS
    assert set(far_wire.DIALECT.errors.values()) <= set(registered_codes())


def test_what_travels_on_to_the_desktop_service_has_its_layout() -> None:
    """A batch is ga-desktop's own with a number before it; an answer's last fields are ga-desktop's."""
    body = wire.input_body([Move(3, 4)])
    numbered = far_wire.batch_body(7, body)
    assert far_wire.OWN_FIELDS["INPUT"].unpack_from(numbered) == (7, 1)
    assert numbered[8:] == body
    for name, extra in {"INPUT_ACK": "QI", "WELCOME": "16sIQQ", "SETTLE": "", "SETTLED": "", "POINTER": ""}.items():
        assert far_wire.OWN_FIELDS[name].format == f"<{extra}{wire.FIELDS[name].format[1:]}"


@pytest.mark.parametrize("quality", [0, -1, 101])
def test_a_quality_that_does_not_exist_is_refused(quality: int) -> None:
    with pytest.raises(ValueError, match="1 to 100"):
        far_wire.frame_body(0, quality)


def test_a_frame_request_says_how_it_shall_travel() -> None:
    fields = far_wire.OWN_FIELDS["FRAME_REQUEST"]
    assert fields.unpack(far_wire.frame_body(3, None)) == (3, far_wire.CONSTANTS["ENCODING_LZ4"], 0)
    assert fields.unpack(far_wire.frame_body(1, 80)) == (1, far_wire.CONSTANTS["ENCODING_JPEG"], 80)
