"""Boot a guest of ten instructions on ``/dev/kvm``: vector unit, a long loop, two bytes written to a port, halt.

Prints ``{"ok": bool, "stage": str, "detail": str}``. Opening the device says nothing, nor do ten instructions of just
any kind: a host that virtualises by page tables opens it and emulates a guest's kernel one instruction after the other,
so that every stock guest hangs. Such an emulator knows no vector instructions and takes a minute for this loop, which a
processor runs in 20 ms.

Source: Linux ``Documentation/virt/kvm/api.rst``; Intel SDM volume 3, "IA-32e mode".
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import mmap
import os
import signal
import sys

GET_API_VERSION, CREATE_VM, GET_VCPU_MMAP_SIZE, CREATE_VCPU = 0xAE00, 0xAE01, 0xAE04, 0xAE41
SET_TSS_ADDR, RUN = 0xAE47, 0xAE80
SET_USER_MEMORY_REGION, GET_SREGS, SET_SREGS, SET_REGS = 0x4020AE46, 0x8138AE83, 0x4138AE84, 0x4090AE82
EXIT_NAMES = {2: "io", 5: "hlt", 6: "mmio", 8: "shutdown", 9: "entry failed", 17: "internal error"}
EXIT_IO, EXIT_HLT, EXIT_INTERNAL = 2, 5, 17
PORT = 0x3F8
START, TABLES, MEMORY_BYTES = 0x1000, 0x2000, 0x200000
BOUND_S = 1.0
CODE = bytes.fromhex(
    "0f57c0"  # xorps xmm0, xmm0
    "b980f0fa02"  # mov ecx, 50_000_000
    "ffc9"  # again: dec ecx
    "75fc"  # jnz again
    "66baf803"  # mov dx, 0x3f8
    "b03f"  # mov al, '?'
    "ee"  # out dx, al
    "b00a"  # mov al, 10
    "ee"  # out dx, al
    "f4"  # hlt
)
EXPECTED = b"?\n"

# Offsets in struct kvm_sregs: six segments of 24 bytes (cs first), two more, two tables, then the control registers.
CR0, CR3, CR4, EFER = 224, 240, 248, 264


def number(value: int, size: int = 8) -> bytes:
    """Return a little-endian number."""
    return value.to_bytes(size, "little")


def boot() -> tuple[bool, str, str]:
    """Return (ok, the stage reached, what was seen)."""
    kvm = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
    version = fcntl.ioctl(kvm, GET_API_VERSION, 0)
    if version != 12:
        return False, "version", f"API version {version}, not 12"
    if os.uname().machine != "x86_64":
        return False, "machine", f"it opens, but there is no test guest for {os.uname().machine}"
    vm = fcntl.ioctl(kvm, CREATE_VM, 0)
    # Intel processors need a place for this below 4 GiB; others refuse the call, which is as well.
    ctypes.CDLL(None).ioctl(vm, ctypes.c_ulong(SET_TSS_ADDR), ctypes.c_ulong(0xFFFBD000))
    memory = mmap.mmap(-1, MEMORY_BYTES)
    memory[START : START + len(CODE)] = CODE
    for level, entry in enumerate((TABLES + 0x1003, TABLES + 0x2003, 0x83)):  # one page of 2 MiB, mapped to itself
        memory[TABLES + level * 0x1000 : TABLES + level * 0x1000 + 8] = number(entry)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    fcntl.ioctl(vm, SET_USER_MEMORY_REGION, bytes(16) + number(MEMORY_BYTES) + number(address))
    vcpu = fcntl.ioctl(vm, CREATE_VCPU, 0)
    run = mmap.mmap(vcpu, fcntl.ioctl(kvm, GET_VCPU_MMAP_SIZE, 0))
    enter_64_bit_mode(vcpu)
    regs = [0] * 18
    regs[16], regs[17] = START, 2  # rip; the one bit of rflags that is always set
    fcntl.ioctl(vcpu, SET_REGS, b"".join(map(number, regs)))
    return run_until_halt(vcpu, run)


def enter_64_bit_mode(vcpu: int) -> None:
    """Set segments and control registers as a kernel has them."""
    sregs = bytearray(312)
    fcntl.ioctl(vcpu, GET_SREGS, sregs)
    flat = number(0) + number(0xFFFFFFFF, 4)  # base, limit; then selector, type, present, dpl, db, s, l, g
    sregs[0:24] = flat + number(8, 2) + bytes((11, 1, 0, 0, 1, 1, 1, 0, 0, 0))
    for segment in range(1, 6):
        sregs[segment * 24 : segment * 24 + 24] = flat + number(16, 2) + bytes((3, 1, 0, 1, 1, 0, 1, 0, 0, 0))
    sregs[CR0 : CR0 + 8] = number(0x80050033)  # paging, protection, and what goes with them
    sregs[CR3 : CR3 + 8] = number(TABLES)
    sregs[CR4 : CR4 + 8] = number(0x220)  # physical address extension, vector registers
    sregs[EFER : EFER + 8] = number(0x500)  # 64-bit mode enabled and active
    fcntl.ioctl(vcpu, SET_SREGS, bytes(sregs))


def run_until_halt(vcpu: int, run: mmap.mmap) -> tuple[bool, str, str]:
    """Run the guest, collect what it writes to the port, and judge it when it halts."""
    written = b""
    while True:
        fcntl.ioctl(vcpu, RUN, 0)
        reason = int.from_bytes(run[8:12], "little")
        if reason == EXIT_IO and int.from_bytes(run[34:36], "little") == PORT and len(written) < 16:
            offset = int.from_bytes(run[40:48], "little")
            written += run[offset : offset + 1]
        elif reason == EXIT_HLT:
            ok = written == EXPECTED
            return ok, "halted", "a guest ran" if ok else f"the guest wrote {written!r} instead of {EXPECTED!r}"
        else:
            why = EXIT_NAMES.get(reason, str(reason))
            return False, "run", f"it opens, but no stock guest runs: a test guest stopped with {why!r}"


def answer(ok: bool, stage: str, detail: str) -> None:
    """Print the result and leave, whatever the device is doing."""
    print(json.dumps({"ok": ok, "stage": stage, "detail": detail}), flush=True)
    os._exit(0)


def on_alarm(*_: object) -> None:
    """The bound."""
    answer(False, "hang", f"it opens, but no stock guest runs: a test guest of 20 ms was not done in {BOUND_S:g} s")


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, BOUND_S)
    try:
        answer(*boot())
    except OSError as error:
        stage = "open" if error.filename == "/dev/kvm" else "ioctl"
        answer(False, stage, f"{error.strerror} (errno {error.errno}) at stage {stage}")
    sys.exit(1)
