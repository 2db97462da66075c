"""Files to data: JSON and YAML as they lie around, and everything that is refused in them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gym_anything.errors import SpecInvalid, SpecNotFound
from gym_anything.specs.reading import read_document

pytestmark = pytest.mark.unit


def read(tmp_path: Path, name: str, content: str | bytes, **more: Any) -> Any:
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_document(file, **more).data


@pytest.mark.parametrize(
    "content",
    [
        b'{"id": "x"}',
        b'\xef\xbb\xbf{"id": "x"}',
        b'{\r\n  "id": "x"\r\n}\r\n',
        b'\xef\xbb\xbf{\r\n"id":\r\n"x"}',
        b'\n\n  {"id": "x"}  \n',
    ],
)
def test_json_with_bom_and_any_line_ends_is_read(tmp_path: Path, content: bytes) -> None:
    assert read(tmp_path, "env.json", content) == {"id": "x"}


def test_names_with_spaces_and_other_scripts_work(tmp_path: Path) -> None:
    """N12: paths with spaces and non-ASCII letters work."""
    folder = tmp_path / "Übung 日本"
    folder.mkdir()
    assert read(folder, "env.json", '{"id": "Grüße 👋"}') == {"id": "Grüße 👋"}


YAML_VALUES = [
    ("a: yes", True), ("a: Off", False), ("a: TRUE", True), ("a: yEs", "yEs"), ("a: 'yes'", "yes"),
    ("a: ~", None), ("a:", None), ("a: null", None), ("a: 'null'", "null"),
    ("a: 12", 12), ("a: -1_000", -1000), ("a: 0x1F", 31), ("a: 0b101", 5), ("a: 0755", 493), ("a: 0o755", "0o755"), ("a: 089", "089"),
    ("a: 1.5", 1.5), ("a: .5", 0.5), ("a: 1.5e+3", 1500.0), ("a: 1e3", "1e3"), ("a: 123e4567", "123e4567"), ("a: '1.5'", "1.5"), ("a: 1.2.3", "1.2.3"), ("a: -", None), ("a: .", "."),
    ("a: 2024-01-31", "2024-01-31"), ("a: 12:30:45", "12:30:45"), ("a: 1000:1000", "1000:1000"), ("a: 1.0e+999", "1.0e+999"),
    ("a: C:\\workspace", "C:\\workspace"), ("a: |\n  x\n  y\n", "x\ny\n"), ("a: >-\n  x\n  y\n", "x y"),
    ("a: [1, {b: 2}]", [1, {"b": 2}]), ("a: {b: [c]}", {"b": ["c"]}), ("\"a\": 1", 1),
    ("a: &x [1]\nb: *x", [1]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), YAML_VALUES, ids=[t for t, _ in YAML_VALUES])
def test_a_yaml_word_means(tmp_path: Path, text: str, value: Any) -> None:
    if text == "a: -":
        with pytest.raises(SpecInvalid, match="not valid YAML"):
            read(tmp_path, "env.yaml", text)
        return
    found = read(tmp_path, "env.yaml", text)["a"]
    assert found == value and type(found) is type(value)


def test_yaml_aliases_and_merge_keys_unfold_into_apart_copies(tmp_path: Path) -> None:
    data = read(tmp_path, "env.yml", "base: &b {x: 1, y: {z: 1}}\na:\n  <<: *b\n  x: 2\nb: {<<: [*b, {w: 3}]}\n")
    assert data["a"] == {"x": 2, "y": {"z": 1}} and data["b"] == {"x": 1, "y": {"z": 1}, "w": 3}
    data["a"]["y"]["z"] = 9
    assert data["base"]["y"]["z"] == 1


BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)
)
REFUSED_YAML = [
    ("a: 1\na: 2", "a", "is there twice (line 2)"),
    ("x: {a: 1, a: 1}", "x.a", "is there twice"),
    ("a: !!python/object/apply:os.system ['true']", "a", "has a YAML tag"),
    ("a: !!str 1", "a", "has a YAML tag"),
    ("a: !local 1", "a", "has a YAML tag"),
    ("yes: 1", "yes", "quote it"),
    ("1: 2", "1", "quote it"),
    ("? [a]\n: b", "", "use plain text as keys"),
    ("{a: b}: c", "", "use plain text as keys"),
    ("a: *nowhere", "a", "refers to an anchor"),
    ("a: &x [*x]", "a[0]", "refers to an anchor"),
    (BOMB, "a5[", "unfolds into more than"),
    ("a: " + "[" * 3000, "a[0]", "nested deeper"),
    ("a: .inf", "a", "not a finite number"),
    ("a: .NaN", "a", "not a finite number"),
    ("\ta: 1", "", "not tabs"),
    ("a:\n\t- 1", "a", "not tabs"),
    ("a: \x07", "", "control characters"),
    ("a: [1", "a", "not valid YAML (line 1"),
    ("a: 1\n---\na: 2", "", "second document"),
    ("- 1", "", "must be an object"),
    ("just words", "", "must be an object"),
    ("", "", "is empty"),
    ("# only a remark\n", "", "is empty"),
    ("a: {<<: 3}", "a.<<", "merge objects only"),
    ("x: &x {y: 1}\na: {<<: *x, <<: *x}", "a.<<", "is there twice"),
    ("%YAML 9.9\n---\na: 1", "", "not valid YAML"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "key", "words"), REFUSED_YAML, ids=range(len(REFUSED_YAML)))
def test_yaml_that_is_more_than_plain_data_is_refused(tmp_path: Path, text: str, key: str, words: str) -> None:
    with pytest.raises(SpecInvalid) as caught:
        read(tmp_path, "env.yaml", text)
    detail = caught.value.detail
    assert words in str(caught.value)
    assert detail["file"] == str(tmp_path / "env.yaml") and detail["key"].startswith(key) and detail["fix"]


REFUSED_JSON = [
    ('{"id": "x", "id": "y"}', "id", "is there twice"),
    ('{"a": [{"b": 1, "b": 1}]}', "a[0].b", "is there twice"),
    ('{"a": True}', "a", "True is Python; write true"),
    ('{"a": None}', "a", "write null"),
    ("{'a': 1}", "", "double quotes"),
    ('{"a": 1,}', "a", "no comma after the last one"),
    ('{"a": 1} {"b": 2}', "a", "one object only"),
    ('{"a": "C:\\workspace"}', "a", "write a back-slash as"),
    ('{"a": "one\ntwo"}', "a", "line break inside text"),
    ('{"a": "cut of', "a", "cut off"),
    ('{"a": [1, 2', "a", "cut off"),
    ('{"a" 1}', "", "a colon"),
    ('{"a": "say "hi""}', "a", "a quote inside text"),
    ('{"a": NaN}', "", "NaN, which is not JSON"),
    ('{"a": -Infinity}', "", "not JSON"),
    ("[]", "", "must be an object"),
    ('"x"', "", "must be an object"),
    ("", "", "the file is empty"),
    ("   \n", "", "the file is empty"),
    ('{"a": ' + "[" * 100_000, "", "nested deeper"),
    ('{"a": ' + "[" * 80 + "]" * 80 + "}", "a[0]", "nested deeper"),
    ('{"a": ' + "9" * 5000 + "}", "", "too long"),
    ("// remark\n{}", "", "not valid JSON"),
]


@pytest.mark.parametrize(("text", "key", "words"), REFUSED_JSON, ids=range(len(REFUSED_JSON)))
def test_wrong_json_is_one_error_with_place_and_fix(tmp_path: Path, text: str, key: str, words: str) -> None:
    with pytest.raises(SpecInvalid) as caught:
        read(tmp_path, "task.json", text)
    detail = caught.value.detail
    assert words in str(caught.value), str(caught.value)
    assert detail["file"] == str(tmp_path / "task.json") and detail["key"].startswith(key) and detail["fix"]


def test_a_duplicate_key_inside_free_data_is_a_remark_and_the_last_one_counts(tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text('{"id": "t", "metadata": {"a": {"x": 1, "x": 2}}}')
    document = read_document(file, free_keys=("metadata",))
    assert document.data["metadata"] == {"a": {"x": 2}}
    assert document.remarks == (("metadata.a.x", "is there twice; the last one counts"),)
    file.write_text('{"metadata": {}, "metadata": {}}')
    with pytest.raises(SpecInvalid, match="metadata is there twice"):
        read_document(file, free_keys=("metadata",))


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff\xfe{\x00}\x00", "UTF-16"), (b'{"id":\n "\xe9"}', "not UTF-8 (line 2)"), (b"\x00" * 40, "not valid JSON")],
)
def test_other_encodings_are_named(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(SpecInvalid) as caught:
        read(tmp_path, "env.json", content)
    assert words in str(caught.value)


def test_a_missing_file_a_folder_and_a_pipe_are_named_and_nothing_hangs(tmp_path: Path) -> None:
    with pytest.raises(SpecNotFound, match="no such file"):
        read_document(tmp_path / "env.json")
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("folder.json", "pipe.json"):
        with pytest.raises(SpecInvalid, match="not a regular file"):
            read_document(tmp_path / name)
    with pytest.raises(SpecInvalid, match="cannot be read"):
        read_document(tmp_path / ("x" * 300 + ".json"))


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    for name, size in (("env.json", 1 << 40), ("env.yaml", 2 << 20)):
        with (tmp_path / name).open("wb") as stream:
            stream.truncate(size)  # a sparse file: reading it would take all memory, or minutes
        with pytest.raises(SpecInvalid, match="is the limit"):
            read_document(tmp_path / name)


def test_no_error_quotes_the_content_since_it_may_be_a_secret(tmp_path: Path) -> None:
    for name, text in (
        ("s.json", '{"TOKEN": "hunter2'),
        ("s.json", '{"TOKEN": hunter2}'),
        ("s.yaml", "TOKEN: [hunter2"),
        ("s.yaml", "TOKEN: !x hunter2"),
    ):
        with pytest.raises(SpecInvalid) as caught:
            read(tmp_path, name, text)
        error: BaseException | None = caught.value
        while error is not None:
            assert "hunter2" not in str(error) and "hunter2" not in str(vars(error))
            error = error.__cause__
