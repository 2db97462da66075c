"""An open file as an answer over HTTP, whole or the part that a video player asks for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import BinaryIO

from fastapi import Response
from fastapi.responses import StreamingResponse

_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "mp4": "video/mp4",
    "webm": "video/webm",
}
PLAIN = "text/plain; charset=utf-8"
"""Whatever else there is, pages and scripts too: it is shown as text and never run."""
_AT_ONCE = 8 << 20
_PIECE = 256 << 10
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


def file_answer(stream: BinaryIO, name: str, asked_range: str | None) -> Response:
    """Return the answer for a file, which is closed once it is sent.

    Args: name: decides the type. asked_range: the request's ``Range``; one that makes no sense is answered by 416.
    """
    size = os.fstat(stream.fileno()).st_size
    part = _part(asked_range, size)
    headers = {"Accept-Ranges": "bytes"}
    kind = _TYPES.get(name.rpartition(".")[2].lower(), PLAIN)
    if part is None:
        stream.close()
        return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"})
    start, length = part
    status = 200
    if asked_range is not None and length < size:
        status = 206
        headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{size}"
    stream.seek(start)
    if length <= _AT_ONCE:
        with stream:
            return Response(stream.read(length), status, headers, kind)
    headers["Content-Length"] = str(length)
    return StreamingResponse(_pieces(stream, length), status, headers, kind)


def _part(asked: str | None, size: int) -> tuple[int, int] | None:
    """Return (start, length) of what is asked for; None when there is no such part."""
    found = _RANGE.fullmatch(asked.strip()) if asked else None
    if found is None or found.groups() == ("", ""):
        return 0, size  # no range, or a form of it that a server may leave aside
    first, last = found.groups()
    if not first:
        length = min(int(last), size)
        return (size - length, length) if length else None
    start = int(first)
    end = min(int(last), size - 1) if last else size - 1
    return (start, end - start + 1) if start <= end else None


def _pieces(stream: BinaryIO, length: int) -> Iterator[bytes]:
    with stream:
        while length > 0:
            piece = stream.read(min(_PIECE, length))
            if not piece:
                return
            length -= len(piece)
            yield piece
