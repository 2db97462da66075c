"""An installation medium of a few kilobytes: a BIOS starts it, it writes to the first disk and switches the machine off.

Source: El Torito specification 1.0; ECMA-119; EDD (int 13h, function 43h); ICH9 (power management at 0x604 as SeaBIOS
sets it up).
"""

from __future__ import annotations

import struct

SECTOR = 2048
_CATALOG, _BOOT, _ROOT, _FILE = 19, 20, 21, 22
_LOADED_AT = 0x7C00


def boot_program(*, mib: int = 2, waits_for_key: bool = False, switches_off: bool = True) -> bytes:
    """Return the program: 16-bit code that writes ``mib`` MiB, says ``D`` on the serial line, and ends."""
    code = bytearray(b"\x31\xc0\x8e\xd8")  # xor ax, ax; mov ds, ax
    if waits_for_key:
        code += b"\xb4\x00\xcd\x16"  # mov ah, 0; int 16h
    code += b"\xbb" + struct.pack("<H", mib * 32)  # mov bx, number of pieces of 32 KiB
    again = len(code)
    code += b"\xbe\0\0\xb8\x00\x43\xb2\x80\xcd\x13"  # mov si, packet; mov ax, 4300h; mov dl, 80h; int 13h
    packet_at = again + 1
    code += b"\x72\0"  # jc fail
    fail_at = len(code) - 1
    code += b"\x66\x83\x06\0\0\x40"  # add dword [first sector], 64
    lba_at = len(code) - 3
    code += b"\x4b\x75" + struct.pack("b", again - len(code) - 3)  # dec bx; jnz again
    code += b"\xba\xf8\x03\xb0\x44\xee"  # mov dx, 3f8h; mov al, 'D'; out dx, al
    code += b"\xba\xfd\x03\xec\xa8\x40\x74\xfb"  # mov dx, 3fdh; until it is sent: in al, dx; test al, 40h; jz
    if switches_off:
        code += b"\xba\x04\x06\xb8\x00\x20\xef"  # mov dx, 604h; mov ax, 2000h; out dx, ax
    code += b"\xf4\xeb\xfd"  # hlt, for ever
    code[fail_at] = len(code) - fail_at - 1
    code += b"\xba\xf8\x03\xb0\x46\xee\xf4\xeb\xfd"  # the same with 'F'
    packet = _LOADED_AT + len(code)
    code[packet_at : packet_at + 2] = struct.pack("<H", packet)
    code[lba_at : lba_at + 2] = struct.pack("<H", packet + 8)
    code += struct.pack("<BBHHHQ", 16, 0, 64, 0, 0xF000, 0)  # 64 sectors of the BIOS itself, to sector 0
    return bytes(code)


def boot_medium(program: bytes, files: dict[str, bytes] | None = None) -> bytes:
    """Return an ISO image that starts a program and holds some files in its root folder and in ``boot/``."""
    files = files or {}
    sectors = {16: _volume(), 17: _boot_record(), 18: b"\xffCD001\x01", _CATALOG: _catalog(), _BOOT: program}
    entries = [_record(b"\0", _ROOT, SECTOR, folder=True), _record(b"\1", _ROOT, SECTOR, folder=True)]
    place = _FILE
    for name, content in files.items():
        entries.append(_record(f"{name.upper()};1".encode(), place, len(content)))
        for at in range(0, max(len(content), 1), SECTOR):
            sectors[place] = content[at : at + SECTOR]
            place += 1
    sectors[_ROOT] = b"".join(entries)
    return b"".join(sectors.get(number, b"").ljust(SECTOR, b"\0") for number in range(place + 1))


def _record(name: bytes, place: int, size: int, *, folder: bool = False) -> bytes:
    length = 33 + len(name) + (len(name) + 1) % 2
    head = struct.pack("<BBI", length, 0, place) + struct.pack(">I", place)
    head += struct.pack("<I", size) + struct.pack(">I", size) + bytes(7) + bytes([2 if folder else 0, 0, 0])
    return (head + struct.pack("<H", 1) + struct.pack(">H", 1) + bytes([len(name)]) + name).ljust(length, b"\0")


def _volume() -> bytes:
    return (b"\x01CD001\x01".ljust(156, b"\0") + _record(b"\0", _ROOT, SECTOR, folder=True)).ljust(SECTOR, b"\0")


def _boot_record() -> bytes:
    return b"\x00CD001\x01EL TORITO SPECIFICATION".ljust(0x47, b"\0") + struct.pack("<I", _CATALOG)


def _catalog() -> bytes:
    check = bytearray(b"\x01\0\0\0".ljust(30, b"\0") + b"\x55\xaa")
    total = sum(struct.unpack("<16H", bytes(check))) & 0xFFFF
    check[28:30] = struct.pack("<H", -total & 0xFFFF)
    return bytes(check) + struct.pack("<BBHBBHI", 0x88, 0, 0, 0, 0, 4, _BOOT)
