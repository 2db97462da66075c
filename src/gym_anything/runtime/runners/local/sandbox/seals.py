"""What namespaces leave open, shut for the whole world before its first program starts.

Two things of the host belong to no namespace: the key rings that a process inherits (with whatever the host's user
keeps in them), and ``AF_VSOCK`` sockets, by which a world without a network would still speak with the machine's
hypervisor. ``io_uring`` goes with them, since it makes sockets that no filter sees.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from gym_anything.runtime.runners.local.sandbox import kernel

_AF_VSOCK = 40
_IO_URING_SETUP = 425
_NATIVE = {
    # seccomp, keyctl, then for the native and the 32-bit kind of program: architecture, socket(), calls to refuse.
    # A 32-bit socketcall() hides its arguments from a filter, so it is refused; socket() itself is there.
    "x86_64": (317, 250, ((0xC000003E, 41, (248, 249, 250)), (0x40000003, 359, (102, 286, 287, 288)))),
    "aarch64": (277, 219, ((0xC00000B7, 198, (217, 218, 219)), (0x40000028, 281, (309, 310, 311)))),
}
_KEYCTL_JOIN_SESSION_KEYRING = 1
_SECCOMP_SET_MODE_FILTER, _SECCOMP_FILTER_FLAG_SPEC_ALLOW = 1, 4
_LOAD, _EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_ARCH, _NUMBER, _FIRST_ARGUMENT = 4, 0, 16
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_X32_BIT = 0x40000000


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def seal() -> None:
    """Leave the inherited key rings and put the filter on; everything started from here on has both.

    Needs ``CAP_SYS_ADMIN`` in our user namespace. Raises: OSError that names the call.
    """
    machine = os.uname().machine
    if machine not in _NATIVE:
        raise OSError(f"the sandbox does not know the system call numbers of {machine}")
    seccomp, keyctl, kinds = _NATIVE[machine]
    try:
        kernel.call("keyctl(JOIN_SESSION_KEYRING)", keyctl, _KEYCTL_JOIN_SESSION_KEYRING, 0)
    except OSError as error:
        if error.errno != errno.ENOSYS:  # a kernel without key rings has none to leave
            raise
    code = _filter(kinds)
    program = _Program(len(code) // 8, code)
    mode, flags = _SECCOMP_SET_MODE_FILTER, _SECCOMP_FILTER_FLAG_SPEC_ALLOW
    kernel.call("seccomp", seccomp, mode, flags, ctypes.addressof(program))


def _filter(kinds: tuple[tuple[int, int, tuple[int, ...]], ...]) -> bytes:
    code = b""
    for arch, socket_number, refused in kinds:
        body = _op(_LOAD, _NUMBER) + _op(_AND, ~_X32_BIT & 0xFFFFFFFF)
        for number in (_IO_URING_SETUP, *refused):
            body += _op(_EQUAL, number, no=1) + _op(_RETURN, _REFUSE | errno.ENOSYS)
        body += _op(_EQUAL, socket_number, no=3) + _op(_LOAD, _FIRST_ARGUMENT)
        body += _op(_EQUAL, _AF_VSOCK, no=1) + _op(_RETURN, _REFUSE | errno.EAFNOSUPPORT)
        body += _op(_RETURN, _ALLOW)
        code += _op(_LOAD, _ARCH) + _op(_EQUAL, arch, no=len(body) // 8) + body
    return code + _op(_RETURN, _REFUSE | errno.ENOSYS)


def _op(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, value)
