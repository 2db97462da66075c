from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything.errors import BadWire
from gym_anything.runtime.guest import wire

pytestmark = pytest.mark.unit

DEFINITION = (Path(__file__).parents[4] / "native" / "ga-guest" / "protocol.def").read_text()


def _constants(list_name: str) -> dict[str, int]:
    body = re.search(rf"#define {list_name}\(CONSTANT\)(.*?)\n\n", DEFINITION, re.S)
    assert body is not None
    return {name: int(value, 0) for name, value in re.findall(r"CONSTANT\((\w+), (\w+)\)", body[1])}


def test_the_constants_are_those_of_the_definition() -> None:
    assert dict(wire.CONSTANTS) == _constants("GA_CONSTANTS")
    assert dict(wire.ERRORS) == _constants("GA_ERRORS")


def test_every_message_is_laid_out_as_the_definition_has_it() -> None:
    messages = {
        name: (int(code), direction)
        for name, code, direction in re.findall(r"  MESSAGE\((\w+), (\d+), (\w+)\)", DEFINITION)
    }
    assert {name: (layout.code, layout.direction) for name, layout in wire.LAYOUTS.items()} == messages
    lines = dict(re.findall(r"#define GA_FIELDS_(\w+)\(FIELD\)(.*)", DEFINITION))
    assert lines.keys() == messages.keys()
    for name, line in lines.items():
        assert list(wire.LAYOUTS[name].fields) == re.findall(r"FIELD\((\w+), (\w+)\)", line), name


def test_codes_are_distinct() -> None:
    assert len({layout.code for layout in wire.LAYOUTS.values()}) == len(wire.LAYOUTS)


@pytest.mark.parametrize(
    ("frame", "golden"),
    [
        (wire.encode_frame("PING", 1), "00000000 01000000 1000 0000"),
        (wire.encode_frame("CREDIT", 0x01020304, bytes=65536), "04000000 04030201 1a00 0000 00000100"),
        (wire.encode_frame("STDIN", 2, data=b"hi"), "02000000 02000000 1700 0000 6869"),
        (
            wire.encode_frame("KILL", 3, flags=1, pid=300, signal=9),
            "0c000000 03000000 1f00 0000 01000000 2c010000 09000000",
        ),
        (
            wire.encode_frame("GET", 4, deadline_ms=5, offset=6, max_size=7, path=b"/a"),
            "1e000000 04000000 2900 0000 0500000000000000 0600000000000000 0700000000000000 02000000 2f61",
        ),
        (
            wire.encode_frame("SPAWN", 5, flags=0, user=b"ga", cwd=b"", log_path=b"", argv=[b"a", b""], env=[]),
            "23000000 05000000 1500 0000 00000000 02000000 6761 00000000 00000000 "
            "02000000 01000000 61 00000000 00000000",
        ),
    ],
)
def test_frames_look_exactly_like_this(frame: bytes, golden: str) -> None:
    assert frame == bytes.fromhex(golden)


def test_the_proofs_are_hmacs_that_differ_by_side() -> None:
    token, ours, theirs = b"t" * 32, b"a" * 32, b"b" * 32
    golden = "2b0cc0bfe79287aecf94bd1061f289b78b4f5e6e97c13a76ec38450f5e036b6b"
    assert wire.proof(token, "guest", ours, theirs).hex() == golden
    assert wire.proof(token, "host", ours, theirs) != wire.proof(token, "guest", ours, theirs)
    assert wire.proof(token, "host", ours, theirs) != wire.proof(token, "host", theirs, ours)


def _values(kind: str) -> st.SearchStrategy[object]:
    unsigned = {"u8": 8, "u16": 16, "u32": 32, "u64": 64}
    if kind in unsigned:
        return st.integers(0, 2 ** unsigned[kind] - 1)
    if kind in ("i32", "i64"):
        bits = int(kind[1:])
        return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    text = st.binary(max_size=30).map(lambda raw: raw.replace(b"\0", b""))
    return {"text": text, "texts": st.lists(text, max_size=5)}.get(kind, st.binary(max_size=30))


@st.composite
def _messages(draw: st.DrawFn) -> tuple[str, dict[str, object]]:
    name = draw(st.sampled_from(sorted(wire.LAYOUTS)))
    return name, {field: draw(_values(kind)) for kind, field in wire.LAYOUTS[name].fields}


@given(_messages())
def test_every_message_survives_the_trip(message: tuple[str, dict[str, object]]) -> None:
    name, fields = message
    assert wire.decode_payload(name, wire.encode_payload(name, **fields)).fields == fields


@given(_messages(), st.data())
def test_a_shortened_or_lengthened_message_is_bad_wire(
    message: tuple[str, dict[str, object]], data: st.DataObject
) -> None:
    name, fields = message
    payload = wire.encode_payload(name, **fields)
    kinds = [kind for kind, _ in wire.LAYOUTS[name].fields]
    if kinds and kinds[-1] != "rest":
        with pytest.raises(BadWire):
            wire.decode_payload(name, payload[: data.draw(st.integers(0, len(payload) - 1))])
    if "rest" not in kinds:
        with pytest.raises(BadWire):
            wire.decode_payload(name, payload + b"x")


@given(st.sampled_from(sorted(wire.LAYOUTS)), st.binary(max_size=200))
def test_any_bytes_decode_or_are_bad_wire(name: str, payload: bytes) -> None:
    try:
        wire.decode_payload(name, payload)
    except BadWire:
        pass


@given(st.binary(min_size=12, max_size=12))
def test_any_header_decodes_or_is_bad_wire(header: bytes) -> None:
    try:
        size, channel, name = wire.decode_header(header)
    except BadWire:
        return
    assert size <= wire.CONSTANTS["MAX_PAYLOAD"] and channel >= 0 and wire.LAYOUTS[name].direction != "TO_GUEST"


def test_what_the_protocol_forbids_is_refused_on_our_side() -> None:
    with pytest.raises(ValueError, match="NUL"):
        wire.encode_frame("REMOVE", 1, flags=0, deadline_ms=0, path=b"a\0b")
    with pytest.raises(wire.FrameTooLarge, match="too long"):
        wire.encode_frame("STDIN", 1, data=b"x" * (wire.CONSTANTS["MAX_PAYLOAD"] + 1))
    with pytest.raises(KeyError):
        wire.encode_frame("CREDIT", 1)


def test_strings_that_stand_for_bytes_come_out_as_those_bytes() -> None:
    assert wire.texts(["é", b"\xff\xfe", "\udcff"]) == ["é".encode(), b"\xff\xfe", b"\xff"]


def test_entries_follow_each_other() -> None:
    fields = {"mode": 1, "uid": 2, "gid": 3, "size": 4, "mtime_ns": -5, "name": b"a", "link_target": b""}
    entry = wire.encode_payload("ENTRY", **fields)
    run = (len(entry).to_bytes(4, "little") + entry) * 3
    assert [found.fields for found in wire.decode_entries(run)] == [fields] * 3
    with pytest.raises(BadWire):
        list(wire.decode_entries(run[:-1]))
