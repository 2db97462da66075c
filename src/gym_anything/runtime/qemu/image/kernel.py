"""The kernel, unpacked: emulated, it would take seconds to unpack itself at every boot. Pure.

Source: Linux ``Documentation/arch/x86/boot.rst`` (``payload_offset``, ``payload_length``).
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable

from gym_anything.errors import HostError

_MAGIC_AT, _MAGIC = 0x202, b"HdrS"
_ELF = b"\x7fELF"
_SECTOR = 512


def _gunzip(data: bytes) -> bytes:
    return zlib.decompressobj(31).decompress(data)


def _unxz(data: bytes) -> bytes:
    return lzma.LZMADecompressor().decompress(data)


_PACKERS: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"\x1f\x8b", _gunzip),
    (b"\xfd7zXZ\0", _unxz),
    (b"BZh", lambda data: bz2.BZ2Decompressor().decompress(data)),
    (_ELF, lambda data: data),
)


def unpacked(image: bytes) -> bytes | None:
    """Return the ELF program inside a bzImage, which QEMU starts directly; None for a packer that Python lacks.

    Raises: HostError for something that is no bzImage.
    """
    header = image[_MAGIC_AT : _MAGIC_AT + 4]
    if header != _MAGIC:
        raise HostError("the image's kernel is no Linux bzImage", detail={"found": image[:4].hex()})
    sectors = image[0x1F1] or 4
    begin = (sectors + 1) * _SECTOR + int.from_bytes(image[0x248:0x24C], "little")
    packed = image[begin : begin + int.from_bytes(image[0x24C:0x250], "little")]
    for magic, unpack in _PACKERS:
        if packed.startswith(magic):
            program = unpack(packed)
            if not program.startswith(_ELF):
                raise HostError("the image's kernel holds no ELF program", detail={"found": program[:4].hex()})
            return program
    return None
