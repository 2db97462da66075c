"""Reads and sets what the document of a LibreOffice holds, by UNO, past the keyboard. Runs on the system's Python.

``office.py PIPE`` prints "ready" once the office has a document. Then it obeys the lines of its standard input, and answers
each with JSON on one line:

* ``take N``: wait until the document has so many line ends; answer with its text, and empty it.
* ``words RRGGBB=WORD …``: put these words into the document, large, each in its colour, a space between; answer "done".
* ``text``: answer with its text.
* ``end``: end the office; no answer.
"""

import json
import select
import sys

import uno
from com.sun.star.connection import NoConnectException

POLL_S, LIMIT_S = 0.004, 10.0


def pause() -> None:
    select.select([], [], [], POLL_S)


class Office:
    def __init__(self, pipe: str) -> None:
        local = uno.getComponentContext()
        self.resolver = local.ServiceManager.createInstance("com.sun.star.bridge.UnoUrlResolver")
        while (context := self.context(pipe)) is None:
            pause()
        self.desktop = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
        while (document := self.desktop.getCurrentComponent()) is None:
            pause()
        self.document = document
        self.document.UndoManager.lock()
        # Fonts that have the scripts: looking for one that does, at every key, takes it seconds.
        style = document.StyleFamilies.getByName("ParagraphStyles").getByName("Standard")
        style.CharFontName = style.CharFontNameComplex = "DejaVu Sans"
        style.CharFontNameAsian = "Noto Sans CJK SC"

    def context(self, pipe: str) -> object:
        try:
            return self.resolver.resolve(f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext")
        except NoConnectException:
            return None

    def take(self, line_ends: str) -> str:
        for _ in range(int(LIMIT_S / POLL_S)):
            text = self.text()
            if text.count("\n") >= int(line_ends):
                break
            pause()
        self.document.Text.String = ""
        return text

    def text(self) -> str:
        return self.document.Text.String

    def words(self, *words: str) -> str:
        text = self.document.Text
        text.String = ""
        cursor = text.createTextCursor()
        cursor.CharHeight = 40.0
        for word in words:
            colour, _, letters = word.partition("=")
            cursor.CharColor = int(colour, 16)
            text.insertString(cursor, letters, False)
            if word is not words[-1]:
                text.insertString(cursor, " ", False)
        return "done"

    def end(self) -> None:
        self.document.setModified(False)
        self.desktop.terminate()


office = Office(sys.argv[1])
print('"ready"', flush=True)
for line in sys.stdin:
    name, *arguments = line.split()
    if name == "end":
        office.end()
        break
    print(json.dumps(getattr(office, name)(*arguments)), flush=True)
