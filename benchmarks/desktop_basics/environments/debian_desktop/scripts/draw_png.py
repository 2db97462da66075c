"""Write a PNG picture: draw_png.py FILE WIDTH HEIGHT COLOUR [COLOUR X Y WIDTH HEIGHT] …; colours as rrggbb; later boxes lie on top."""

import struct
import sys
import zlib

file, width, height, ground, *boxes = sys.argv[1:]
width, height = int(width), int(height)
rows = [bytearray(bytes.fromhex(ground) * width) for _ in range(height)]
for start in range(0, len(boxes), 5):
    colour, x, y, w, h = bytes.fromhex(boxes[start]), *map(int, boxes[start + 1 : start + 5])
    for row in rows[y : y + h]:
        row[3 * x : 3 * (x + w)] = colour * w


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
with open(file, "wb") as out:
    out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))
