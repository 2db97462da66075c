"""DES, one block at a time: all that the password test of the RFB protocol needs. Source: FIPS 46-3."""

from __future__ import annotations

# fmt: off
# ruff: noqa: E501
_IP = (58, 50, 42, 34, 26, 18, 10, 2, 60, 52, 44, 36, 28, 20, 12, 4, 62, 54, 46, 38, 30, 22, 14, 6, 64, 56, 48, 40, 32, 24, 16, 8,
       57, 49, 41, 33, 25, 17, 9, 1, 59, 51, 43, 35, 27, 19, 11, 3, 61, 53, 45, 37, 29, 21, 13, 5, 63, 55, 47, 39, 31, 23, 15, 7)
_FP = (40, 8, 48, 16, 56, 24, 64, 32, 39, 7, 47, 15, 55, 23, 63, 31, 38, 6, 46, 14, 54, 22, 62, 30, 37, 5, 45, 13, 53, 21, 61, 29,
       36, 4, 44, 12, 52, 20, 60, 28, 35, 3, 43, 11, 51, 19, 59, 27, 34, 2, 42, 10, 50, 18, 58, 26, 33, 1, 41, 9, 49, 17, 57, 25)
_E = (32, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9, 8, 9, 10, 11, 12, 13, 12, 13, 14, 15, 16, 17,
      16, 17, 18, 19, 20, 21, 20, 21, 22, 23, 24, 25, 24, 25, 26, 27, 28, 29, 28, 29, 30, 31, 32, 1)
_P = (16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22, 11, 4, 25)
_PC1 = (57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44, 36,
        63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20, 12, 4)
_PC2 = (14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2,
        41, 52, 31, 37, 47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32)
_SHIFTS = (1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1)
_S = (
    "e4d12fb83a6c5907 0f74e2d1a6cb9538 41e8d62bfc973a50 fc8249175b3ea06d",
    "f18e6b34972dc05a 3d47f28ec01a69b5 0e7ba4d158c6932f d8a13f42b67c05e9",
    "a09e63f51dc7b428 d709346a285ecbf1 d6498f30b12c5ae7 1ad069874fe3b52c",
    "7de3069a1285bc4f d8b56f03472c1ae9 a690cb7df13e5284 3f06a1d8945bc72e",
    "2c417ab6853fd0e9 eb2c47d150fa3986 421bad78f9c5630e b8c71e2d6f09a453",
    "c1af92680d34e75b af427c9561de0b38 9ef528c3704a1db6 432c95fabe17608d",
    "4b2ef08d3c975a61 d0b7491ae35c2f86 14bdc37eaf680592 6bd814a7950fe23c",
    "d2846fb1a93e50c7 1fd8a374c56b0e92 7b419ce206adf358 21e74a8dfc90356b",
)
# fmt: on
_BOXES = tuple(tuple(tuple(int(digit, 16) for digit in row) for row in box.split()) for box in _S)


def encrypt_block(key: bytes, block: bytes) -> bytes:
    """Encrypt 8 bytes under an 8-byte key (its parity bits are ignored)."""
    bits = _permute(_bits(block), _IP)
    left, right = bits[:32], bits[32:]
    for round_key in _round_keys(key):
        left, right = right, [a ^ b for a, b in zip(left, _mix(right, round_key), strict=True)]
    return _bytes(_permute(right + left, _FP))


def rfb_answer(password: str, challenge: bytes) -> bytes:
    """Return the answer a VNC client gives to a 16-byte challenge; only 8 bytes of the password count.

    Source: RFC 6143, section 7.2.2; the bits of each password byte are taken in mirrored order.
    """
    raw = password.encode("latin-1", "replace")[:8].ljust(8, b"\0")
    key = bytes(int(f"{byte:08b}"[::-1], 2) for byte in raw)
    return encrypt_block(key, challenge[:8]) + encrypt_block(key, challenge[8:16])


def _mix(half: list[int], round_key: list[int]) -> list[int]:
    mixed = [a ^ b for a, b in zip(_permute(half, _E), round_key, strict=True)]
    out: list[int] = []
    for number, box in enumerate(_BOXES):
        six = mixed[6 * number : 6 * number + 6]
        row = 2 * six[0] + six[5]
        column = 8 * six[1] + 4 * six[2] + 2 * six[3] + six[4]
        out += [box[row][column] >> shift & 1 for shift in (3, 2, 1, 0)]
    return _permute(out, _P)


def _round_keys(key: bytes) -> list[list[int]]:
    bits = _permute(_bits(key), _PC1)
    left, right = bits[:28], bits[28:]
    keys = []
    for shift in _SHIFTS:
        left, right = left[shift:] + left[:shift], right[shift:] + right[:shift]
        keys.append(_permute(left + right, _PC2))
    return keys


def _permute(bits: list[int], table: tuple[int, ...]) -> list[int]:
    return [bits[place - 1] for place in table]


def _bits(data: bytes) -> list[int]:
    return [byte >> shift & 1 for byte in data for shift in range(7, -1, -1)]


def _bytes(bits: list[int]) -> bytes:
    return bytes(int("".join(map(str, bits[i : i + 8])), 2) for i in range(0, len(bits), 8))
