"""The ``screen`` of fast mode: a dict whose PIL image is made when it is first asked for.

Making the image copies the frame (1 to 2 ms at 1920 x 1080); an agent that reads ``array`` does not pay for it. To
whoever reads it this is a plain dict: every way of reading (``[]``, ``get``, ``items``, ``dict(…)``, ``{**…}``,
copying, pickling) gives the same seven keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

    from gym_anything.observations.frame import Frame

_NOT_MADE = object()


class FastScreen(dict[str, Any]):
    """``{"image", "format", "resolution", "mode", "array", "seq", "captured_at"}``.

    Holding it holds the frame's array. ``detach`` ends that: environments call it before a frame's memory is reused.
    """

    def __init__(self, frame: Frame) -> None:
        super().__init__(
            image=_NOT_MADE,
            format="pil",
            resolution=[frame.width, frame.height],
            mode="RGB",
            array=frame.array,
            seq=frame.seq,
            captured_at=frame.captured_at,
        )

    def detach(self) -> None:
        """Make everything here the holder's own copy, so that the frame's memory may be reused."""
        array = super().__getitem__("array").copy()
        array.flags.writeable = False
        self._image()
        super().__setitem__("array", array)

    def _image(self) -> Image:
        image = super().__getitem__("image")
        if image is _NOT_MADE:
            from PIL import Image as pil

            image = pil.fromarray(super().__getitem__("array"))  # mode RGB is never shared with the array
            super().__setitem__("image", image)
        return image  # type: ignore[no-any-return]

    def __getitem__(self, key: str) -> Any:
        return self._image() if key == "image" else super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of ``key``, or ``default``."""
        return self._image() if key == "image" else super().get(key, default)

    # A dict subclass that defines __iter__ is read through keys() and [] by dict(), {**…} and update(), too.
    def __iter__(self) -> Iterator[str]:
        return super().__iter__()

    def values(self) -> Any:
        """Return the values, the image made."""
        self._image()
        return super().values()

    def items(self) -> Any:
        """Return the items, the image made."""
        self._image()
        return super().items()

    def copy(self) -> dict[str, Any]:
        """Return a plain dict, the image made."""
        self._image()
        return dict(super().items())

    def __deepcopy__(self, memo: Any) -> dict[str, Any]:
        return self.__reduce__()[1][0]  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:  # comparing arrays has no single answer
        return self is other

    def __repr__(self) -> str:
        width, height = super().__getitem__("resolution")
        return f"<screen {width}x{height} seq={super().__getitem__('seq')}>"

    def __reduce__(self) -> tuple[Any, ...]:
        plain = self.copy()
        plain["array"] = plain["array"].copy()
        return dict, (plain,)
