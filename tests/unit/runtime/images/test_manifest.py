"""``image.json``: what the page shows is one, and what is none is refused with origin and key."""

from __future__ import annotations

import json

import pytest

from gym_anything.errors import SpecInvalid
from gym_anything.runtime.images.prepared.manifest import checked_sha256, read_manifest
from gym_anything.runtime.images.prepared.source import without_secrets
from tests.unit.docs.doc_snippets import snippets
from tests.unit.runtime.images.prepared_files import prepared

pytestmark = pytest.mark.unit


def test_the_page_shows_a_manifest() -> None:
    (shown,) = [snippet.text for snippet in snippets("docs/how-to/images.md") if snippet.language == "json"]
    manifest = read_manifest(shown.replace("64 digits", "ab" * 32).encode(), "the page")
    assert (manifest.name, manifest.packed, manifest.image.bytes) == ("ubuntu", True, 5678901234)


def changed(**changes: object) -> bytes:
    return json.dumps({**json.loads(prepared().manifest), **changes}).encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "no JSON document"),
        (b"[]", "x: document"),
        (changed(format=2), "x: format"),
        (changed(name="../up"), "x: name"),
        (changed(kind="floppy"), "x: kind"),
        (changed(image={"file": "a/b.qcow2", "sha256": "0" * 64}), "no plain file name"),
        (changed(image={"file": "..", "sha256": "0" * 64}), "no name for an image"),
        (changed(image={"file": "prepared.json", "sha256": "0" * 64}), "no name for an image"),
        (changed(archive={"file": "a.zip", "sha256": "0" * 63}), "no SHA-256"),
        (changed(archive={"file": "a.zip"}), "x: archive.sha256"),
    ],
)
def test_what_is_no_manifest_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(SpecInvalid, match=said):
        read_manifest(data, "x")


def test_a_pin_may_be_written_as_publishers_write_it() -> None:
    assert checked_sha256(f" sha256:{'AB' * 32}\n") == "ab" * 32
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        checked_sha256("")


def test_a_record_keeps_no_secret_of_an_address() -> None:
    assert without_secrets("https://me:pw@host:8/a/b.zip?token=x#y") == "https://host:8/a/b.zip"
    assert without_secrets("/mnt/b.zip?x") == "/mnt/b.zip?x"
