"""A Qt 5 text field. F9 prints what it holds, as JSON on one line, and empties it. Runs on the system's Python."""

import json
import sys

from PyQt5.QtCore import Qt
from PyQt5.QtGui import QFocusEvent, QKeyEvent
from PyQt5.QtWidgets import QApplication, QPlainTextEdit


class Field(QPlainTextEdit):
    ready = False

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if not self.ready:
            print('"ready"', flush=True)
        self.ready = True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() != Qt.Key_F9:
            super().keyPressEvent(event)
            return
        # toPlainText would make a space of a no-break space
        print(json.dumps(self.document().toRawText().replace("\u2029", "\n")), flush=True)
        self.clear()


application = QApplication(sys.argv)
field = Field()
field.showMaximized()
sys.exit(application.exec_())
