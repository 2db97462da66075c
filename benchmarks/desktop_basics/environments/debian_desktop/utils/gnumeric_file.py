"""Cells of a file in Gnumeric's own format: XML, gzipped or not."""

import gzip
import xml.etree.ElementTree as ElementTree

SPACE = "{http://www.gnumeric.org/v10.dtd}"


def cells(raw):
    """Return (row, column), both from 0 -> what the cell holds, of the first sheet."""
    tree = ElementTree.fromstring(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    sheet = tree.find(f"{SPACE}Sheets/{SPACE}Sheet")
    return {(int(c.get("Row")), int(c.get("Col"))): c.text or "" for c in sheet.iter(f"{SPACE}Cell")}
