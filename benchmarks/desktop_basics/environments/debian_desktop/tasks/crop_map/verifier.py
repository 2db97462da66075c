"""Ground truth: the pixels of /home/ga/map.png."""

import numpy
from judging import judge
from pictures import box, read_picture

GREY = (0x90, 0x90, 0x90)


def wanted():
    """Return the field with its lake."""
    picture = numpy.empty((200, 300, 3), numpy.uint8)
    picture[:] = (0x30, 0xA0, 0x50)
    box(picture, 80, 50, 100, 60)[:] = (0x20, 0x50, 0xC0)
    return picture


def verify(traj, env_info, task_info):
    picture = read_picture(env_info, "/home/ga/map.png")
    if picture is None:
        return judge({"the picture is there": (100, False)})
    height, width = picture.shape[:2]
    cropped = (width, height) != (600, 400)
    close = abs(width - 300) <= 10 and abs(height - 200) <= 10
    return judge(
        {
            "it was cropped": (10, cropped),
            "it is about as large as the field": (30, close),
            "no grey is left": (20, cropped and not (picture == GREY).all(axis=2).any()),
            "it is the field exactly": (40, numpy.array_equal(picture, wanted())),
        },
        note=f"{width}x{height}",
    )
