"""Text fields of the two big toolkits, as small programs of our own."""

from __future__ import annotations

from tests.integration.desktop.typing_matrix.target import FIELDS, SYSTEM_PYTHON, Target, cannot_import


class GtkTarget(Target):
    """A ``GtkTextView``."""

    name = "gtk"

    @classmethod
    def missing(cls) -> str:
        return cannot_import('import gi; gi.require_version("Gtk", "3.0"); from gi.repository import Gtk')

    def start(self) -> None:
        self.start_program(SYSTEM_PYTHON, FIELDS / "gtk.py")


class QtTarget(Target):
    """A ``QPlainTextEdit`` on Qt's own way to the X server."""

    name = "qt"

    @classmethod
    def missing(cls) -> str:
        return cannot_import("import PyQt5.QtWidgets")

    def start(self) -> None:
        self.start_program(SYSTEM_PYTHON, FIELDS / "qt.py")


class QtListTarget(QtTarget):
    """A ``QListWidget`` whose items can be dragged: gives the items' places after F9, their order after a drop."""

    name = "qt_list"

    def start(self) -> None:
        self.start_program(SYSTEM_PYTHON, FIELDS / "qt_list.py")
