"""DES and the VNC answer, against published vectors."""

from __future__ import annotations

import pytest

from gym_anything.runtime.vnc.des import encrypt_block, rfb_answer

pytestmark = pytest.mark.unit

# Source: NIST Special Publication 800-17, tables A.1 to A.3 (variable plaintext, permutation and substitution tests).
VECTORS = [
    ("0101010101010101", "8000000000000000", "95F8A5E5DD31D900"),
    ("0101010101010101", "0000000000000001", "166B40B44ABA4BD6"),
    ("8001010101010101", "0000000000000000", "95A8D72813DAA94D"),
    ("0101010101010102", "0000000000000000", "869EFD7F9F265A09"),
    ("7CA110454A1A6E57", "01A1D6D039776742", "690F5B0D9A26939B"),
    ("0131D9619DC1376E", "5CD54CA83DEF57DA", "7A389D10354BD271"),
    ("133457799BBCDFF1", "0123456789ABCDEF", "85E813540F0AB405"),
]


@pytest.mark.parametrize(("key", "plain", "cipher"), VECTORS)
def test_published_vectors(key: str, plain: str, cipher: str) -> None:
    assert encrypt_block(bytes.fromhex(key), bytes.fromhex(plain)).hex().upper() == cipher


def test_only_eight_bytes_of_a_vnc_password_count() -> None:
    challenge = bytes(range(16))
    assert rfb_answer("12345678", challenge) == rfb_answer("12345678 and more", challenge)
    assert rfb_answer("1234567", challenge) != rfb_answer("12345678", challenge)
    assert len(rfb_answer("", challenge)) == 16
