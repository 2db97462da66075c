"""Ground truth: the pixels of /home/ga/tower.png."""

import numpy
from judging import judge
from pictures import box, read_picture

ROOF = (0xC0, 0x20, 0x20)


def before():
    """Return the picture as the set-up makes it."""
    picture = numpy.empty((320, 480, 3), numpy.uint8)
    picture[:] = (0xA0, 0xC8, 0xF0)
    box(picture, 120, 110, 300, 100)[:] = (0x80, 0x60, 0x40)
    box(picture, 60, 110, 60, 100)[:] = ROOF
    box(picture, 420, 0, 60, 320)[:] = (0x20, 0x60, 0x20)
    return picture


def verify(traj, env_info, task_info):
    picture = read_picture(env_info, "/home/ga/tower.png")
    if picture is None:
        return judge({"the picture is there": (100, False)})
    return judge(
        {
            "it stands upright": (40, picture.shape == (480, 320, 3)),
            "the roof is at the top": (60, numpy.array_equal(picture, numpy.rot90(before(), -1))),
        },
        note=f"{picture.shape[1]}x{picture.shape[0]}",
    )
