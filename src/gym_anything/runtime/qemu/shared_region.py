"""Memory that a running machine and we share: a device that is plugged in, and unplugged before the machine is saved.

The guest sees a PCI device whose second bar is the memory; here it is anonymous, so nothing is left of it whatever
happens. A machine that is saved has no such device: QEMU saves none of them, and every copy gets one of its own.

Source: QEMU ``docs/system/devices/ivshmem``; on machine type ``pc`` the guest sees it some milliseconds later.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import threading

from gym_anything._util.deadline import Deadline
from gym_anything.errors import CaptureFailed, WorldError
from gym_anything.runtime.qemu.machine import SHARED_REGION_ADDR
from gym_anything.runtime.qemu.qmp import QmpClient

REGION_BYTES = 32 << 20
"""Twice what the graphics card has, in the power of two that a bar needs; only what is written takes memory."""
_DEVICE, _BACKEND, _SET_ID = "ga-region", "ga-region-memory", 8
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_UNPLUGGED = "DEVICE_DELETED"
_WANTED = ("ivshmem-plain", "the shared region")


class SharedRegion:
    """The region of one machine. Any thread; they take turns."""

    def __init__(self, qmp: QmpClient) -> None:
        self._qmp = qmp
        self._turn = threading.Lock()
        self._memory: mmap.mmap | None = None

    def plug(self, deadline: Deadline) -> mmap.mmap:
        """Return the memory, read-only; plugs it in when it is not. The guest sees the device a little later.

        Raises: CaptureFailed when this QEMU has no such device; WorldLost, Aborted, DeadlineExceeded.
        """
        with self._turn:
            if self._memory is None:
                self._memory = self._plug(deadline)
            return self._memory

    def unplug(self, deadline: Deadline) -> None:
        """Take the device out of the machine, which must agree; idempotent.

        Raises: WorldLost, Aborted, DeadlineExceeded (the guest does not let go of it).
        """
        with self._turn:
            if self._memory is None:
                return
            self._qmp.execute("device_del", {"id": _DEVICE}, deadline=deadline)
            while self._qmp.await_event((_UNPLUGGED,), deadline=deadline).data.get("device") != _DEVICE:
                pass
            self._qmp.execute("object-del", {"id": _BACKEND}, deadline=deadline)
            self._memory = None

    def _plug(self, deadline: Deadline) -> mmap.mmap:
        fd = os.memfd_create("gym-anything-region", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(fd, REGION_BYTES)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)  # or QEMU could take it away under our reading
            memory = mmap.mmap(fd, REGION_BYTES, prot=mmap.PROT_READ)
            self._give(fd, deadline)
        except WorldError as error:
            if "text" not in error.detail:
                raise
            raise CaptureFailed(
                f"this QEMU plugs in no {_WANTED[0]} for {_WANTED[1]}: {error.detail['text']}; "
                "use GYM_ANYTHING_QEMU_FAST_IO_BACKEND=qmp",
                detail=error.detail,
            ) from error
        finally:
            os.close(fd)
        return memory

    def _give(self, fd: int, deadline: Deadline) -> None:
        """Hand the memory to QEMU, which keeps it by a descriptor of its own, and plug the device in."""
        given = self._qmp.execute("add-fd", {"fdset-id": _SET_ID}, deadline=deadline, fds=[fd])
        try:
            backend = {"qom-type": "memory-backend-file", "id": _BACKEND, "size": REGION_BYTES, "share": True}
            backend |= {"mem-path": f"/proc/self/fd/{given['fd']}"}
            self._qmp.execute("object-add", backend, deadline=deadline)
        finally:
            self._qmp.execute("remove-fd", {"fdset-id": given["fdset-id"]}, deadline=deadline)
        device = {"driver": _WANTED[0], "id": _DEVICE, "memdev": _BACKEND, "addr": SHARED_REGION_ADDR}
        try:
            self._qmp.execute("device_add", device, deadline=deadline)
        except WorldError:
            with contextlib.suppress(WorldError):  # the first error is the one to tell
                self._qmp.execute("object-del", {"id": _BACKEND}, deadline=deadline)
            raise
