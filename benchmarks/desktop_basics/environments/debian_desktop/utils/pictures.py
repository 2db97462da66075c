"""Pictures of the world, as arrays."""

import io

import numpy
from judging import read_bytes
from PIL import Image


def read_picture(env_info, path):
    """Return a picture of the world as (height, width, 3), uint8, or None when it is not there."""
    raw = read_bytes(env_info, path)
    return None if raw is None else numpy.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))


def box(picture, x, y, width, height):
    """Return a part of a picture."""
    return picture[y : y + height, x : x + width]
