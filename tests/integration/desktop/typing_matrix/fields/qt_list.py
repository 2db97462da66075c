"""A Qt 5 list whose items can be dragged. F9 prints where each item's middle is on the screen, a drop the order of the items:
JSON, one line each. Runs on the system's Python."""

import json
import sys

from PyQt5.QtCore import Qt, QTimer
from PyQt5.QtGui import QDropEvent, QFocusEvent, QKeyEvent
from PyQt5.QtWidgets import QAbstractItemView, QApplication, QListWidget


class Items(QListWidget):
    ready = False

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if not self.ready:
            print('"ready"', flush=True)
        self.ready = True

    def dropEvent(self, event: QDropEvent) -> None:
        super().dropEvent(event)
        QTimer.singleShot(0, self.tell_order)

    def tell_order(self) -> None:
        print(json.dumps([self.item(row).text() for row in range(self.count())]), flush=True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key_F9:
            middles = [self.visualItemRect(self.item(row)).center() for row in range(self.count())]
            places = [self.viewport().mapToGlobal(middle) for middle in middles]
            print(json.dumps([[place.x(), place.y()] for place in places]), flush=True)


application = QApplication(sys.argv)
items = Items()
items.addItems(["first", "second", "third", "fourth"])
items.setDragDropMode(QAbstractItemView.InternalMove)
items.setStyleSheet("font-size: 24px")
items.showMaximized()
sys.exit(application.exec_())
