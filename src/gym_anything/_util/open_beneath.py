"""Opening a file below a folder whose content is somebody else's: no link in it is followed."""

from __future__ import annotations

import ctypes
import os
import struct

_SYS_OPENAT2 = 437
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08

_libc = ctypes.CDLL(None, use_errno=True)


def open_beneath(folder_fd: int, path: str) -> int:
    """Open what lies at a relative ``path`` below a folder, without following any link; an ``O_PATH`` descriptor."""
    how = struct.pack("<QQQ", os.O_PATH | os.O_CLOEXEC, 0, _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS)
    number, size = ctypes.c_long(_SYS_OPENAT2), ctypes.c_size_t(len(how))
    result = int(_libc.syscall(number, ctypes.c_long(folder_fd), os.fsencode(path), ctypes.c_char_p(how), size))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"openat2({path}): {os.strerror(code)}")
    return result
