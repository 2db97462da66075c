"""Our own C programs, and the video encoder."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything.doctor.check import Check
from gym_anything.errors import NativeProgramMissing
from gym_anything.runtime.native import build, locate, programs

_FIX = "gym-anything doctor --fix"
_CODEC = "libx264"


def native_programs(_: Deadline) -> Iterator[Check]:
    """Look for a build of each program from exactly the sources that are installed. Nothing is built here."""
    try:
        root = programs.source_root()
    except NativeProgramMissing as error:
        yield Check("native", False, str(error), fix=str(error.detail.get("fix", _FIX)))
        return
    for name in programs.program_names(root):
        found = locate.find_program(name)
        needed_by = programs.optional_for(root, name) or "local worlds"
        detail = str(found) if found else f"not built from the present sources; {needed_by} need it"
        yield Check(f"native:{name}", found is not None, detail, fix=_FIX)


def is_checkout() -> bool:
    """Tell whether the C sources are those of a checkout."""
    try:
        return programs.is_checkout()
    except NativeProgramMissing:
        return False


def repair() -> list[Check]:
    """Build the programs that are missing; return a row for each that was built or could not be."""
    rows = []
    for name in programs.program_names(programs.source_root()):
        if locate.find_program(name) is not None:
            continue
        try:
            path = build.build_native([name])[name]
            rows.append(Check(f"build:{name}", True, f"built {path}"))
        except NativeProgramMissing as error:
            rows.append(Check(f"build:{name}", False, str(error), fix=str(error.detail.get("fix", ""))))
    return rows


def encoder(_: Deadline) -> Iterator[Check]:
    """Encode two pictures and decode them again, in memory."""
    fix = "pip install --force-reinstall --only-binary av av"
    try:
        import av
        import numpy as np
    except ImportError as error:
        yield Check("video-encoder", False, f"PyAV cannot be imported: {error}", fix=fix)
        return
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream: Any = container.add_stream(_CODEC, rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for shade in (0, 255):
            picture = av.VideoFrame.from_ndarray(np.full((48, 64, 3), shade, np.uint8), format="rgb24")
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    file.seek(0)
    with av.open(file, "r") as made:
        count = len(list(made.decode(video=0)))
    detail = f"{_CODEC} of PyAV {av.__version__} made {count} pictures of 2"
    yield Check("video-encoder", count == 2, detail, fix=fix)
