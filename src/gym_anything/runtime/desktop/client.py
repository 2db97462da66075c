"""The client of ``ga-desktop``: frames, input and settle of one X11 desktop on this host, from this process."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from gym_anything._util.deadline import Deadline
from gym_anything.errors import CaptureFailed
from gym_anything.runtime.desktop.desktop import DesktopFrame
from gym_anything.runtime.desktop.lane import Lanes, Turn, UnixLanes
from gym_anything.runtime.desktop.laned_desktop import LanedDesktop
from gym_anything.runtime.desktop.link import close_all
from gym_anything.runtime.desktop.mapping import FrameMapping
from gym_anything.runtime.desktop.wire import CONSTANTS, FIELDS

_COPY, _NEW_MAPPING = CONSTANTS["FRAME_COPY"], CONSTANTS["FRAME_NEW_MAPPING"]
_FRAME_REQUEST = FIELDS["FRAME_REQUEST"]


class DesktopClient(LanedDesktop):
    """A desktop on this host. A frame's array is a view into memory shared with the service.

    When too many views are kept alive, later frames are copies.
    """

    def __init__(self, lanes: Lanes) -> None:
        """Use ``connect``."""
        super().__init__(lanes)
        self._mapping: FrameMapping | None = None

    @classmethod
    def connect(cls, unix_path: str | Path, *, deadline: Deadline, token: bytes | None = None) -> Self:
        """Connect, waiting until the service listens.

        Args:
            unix_path: the service's socket.
            token: the secret that both sides prove to know, when the service was started with one (it never travels).
        Raises: Unreachable (nothing listens there before the deadline), Unauthorized, VersionSkew, WorldLost.
        """
        return cls(UnixLanes(Path(unix_path), token).reach(deadline))

    def close(self) -> None:
        """Close; idempotent. Frames handed out stay valid."""
        super().close()
        self._mapping = None

    def _ask_frame(self, turn: Turn, flags: int) -> DesktopFrame:
        answer = turn.request("FRAME_REQUEST", _FRAME_REQUEST.pack(flags), "FRAME")
        flags, slot, seq, picture, captured_at_ns, after_input, width, height = answer.fields
        if flags & _NEW_MAPPING:
            self._mapping = self._map(answer.fds)
        mapping = self._mapping
        if mapping is None or (width, height) != (mapping.width, mapping.height) or slot >= CONSTANTS["SLOTS"]:
            raise CaptureFailed(f"the desktop service gave frame {seq} without its memory")
        self._size = (width, height)
        return DesktopFrame(
            mapping.array(slot, keep=not flags & _COPY), seq, captured_at_ns / 1e9, after_input, picture
        )

    @staticmethod
    def _map(fds: list[int]) -> FrameMapping:
        try:
            if len(fds) != 2:
                raise CaptureFailed("the desktop service sent no frame memory")
            return FrameMapping(*fds)
        except OSError as error:
            raise CaptureFailed(f"the frame memory cannot be mapped: {error}") from error
        finally:
            close_all(fds)
