"""Ground truth: the pixels of /home/ga/sign.png."""

import numpy
from judging import judge
from pictures import box, read_picture

RED, WHITE = (255, 0, 0), (255, 255, 255)
INSIDE = (160, 110, 220, 140)


def before():
    """Return the picture as the set-up makes it."""
    picture = numpy.empty((400, 600, 3), numpy.uint8)
    picture[:] = 0x90
    box(picture, 150, 100, 240, 160)[:] = 0
    box(picture, *INSIDE)[:] = WHITE
    return picture


def verify(traj, env_info, task_info):
    picture = read_picture(env_info, "/home/ga/sign.png")
    if picture is None or picture.shape != (400, 600, 3):
        return judge({"the picture is there, in its size": (100, False)})
    inside = box(picture, *INSIDE)
    rest, old = picture.copy(), before()
    box(rest, *INSIDE)[:] = box(old, *INSIDE)[:] = 0
    return judge(
        {
            "the inside is not white any more": (30, not (inside == WHITE).all(axis=2).any()),
            "it is pure red": (70, bool((inside == RED).all())),
        },
        {"the frame and the ground": numpy.array_equal(rest, old)},
        f"its middle is {tuple(int(v) for v in inside[70, 110])}",
    )
