"""N1: no secret in logs, artifacts, error details."""

from __future__ import annotations

import base64
import json
import pickle
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything._util.secrets import MASK, SHORTEST, Redactor

pytestmark = pytest.mark.unit

SECRETS = st.lists(st.text(min_size=SHORTEST, max_size=20).filter(lambda s: s not in MASK), min_size=1, max_size=4)
TEXT = st.text(max_size=40)


@given(SECRETS, st.lists(TEXT, min_size=2, max_size=5), st.data())
def test_a_known_secret_survives_nowhere(secrets: list[str], around: list[str], data: st.DataObject) -> None:
    """N1. Whatever stands around it, in a text, in bytes, or anywhere in a JSON document."""
    secret = data.draw(st.sampled_from(secrets))
    text = secret.join(around)
    redactor = Redactor(secrets)
    document = {text: [text, {"deep": text.encode("utf-8", "surrogatepass")}], "n": 1}
    cleaned = redactor.json(document)
    shown = [redactor.text(text), *cleaned, cleaned[next(iter(cleaned))][0]]
    for output in shown:
        assert secret not in output.replace(MASK, "\0")
    assert secret.encode("utf-8", "surrogatepass") not in cleaned[next(iter(cleaned))][1]["deep"]


@given(st.text(min_size=6, max_size=30, alphabet=st.characters(codec="utf-8")), TEXT.filter(str.isprintable))
def test_a_secret_is_found_json_escaped_and_url_quoted(secret: str, around: str) -> None:
    """N1. Serialising first and redacting afterwards hides it as well."""
    redactor = Redactor([secret])
    for escaped in (json.dumps(secret)[1:-1], quote(secret, safe="")):
        assert MASK in redactor.text(f"{escaped}|")


@given(st.text(min_size=12, max_size=30, alphabet="abcXYZ019_-"), st.binary(max_size=5), st.binary(max_size=5))
def test_a_secret_is_found_in_base64_at_every_offset(secret: str, before: bytes, after: bytes) -> None:
    """N1. `Authorization: Basic base64(user:secret)` gives it away, too."""
    encoded = base64.b64encode(before + secret.encode() + after).decode()
    assert MASK in Redactor([secret]).text(encoded)


@given(TEXT, SECRETS)
def test_a_text_without_a_secret_stays_as_it_is(text: str, secrets: list[str]) -> None:
    redactor = Redactor(secrets)
    if not any(form in text.encode("utf-8", "surrogatepass") for form in redactor._binary):
        assert redactor.text(text) == text or text in secrets


def test_a_short_secret_is_masked_only_where_it_is_the_whole_value() -> None:
    redactor = Redactor(["ab", ""])
    assert redactor.json({"password": "ab", "text": "a cab"}) == {"password": MASK, "text": "a cab"}
    assert redactor.text("") == ""


def test_the_longer_of_two_overlapping_secrets_is_masked_first() -> None:
    assert Redactor(["pass", "password123"]).text("x password123 y") == f"x {MASK} y"


def test_the_redactor_itself_gives_nothing_away() -> None:
    redactor = Redactor(["hunter2!"]).with_secrets(["other-one"])
    assert "hunter2" not in repr(redactor)
    assert redactor.text("hunter2! other-one") == f"{MASK} {MASK}"
    with pytest.raises(TypeError):
        pickle.dumps(redactor)
