"""A GTK 3 text field. F9 prints what it holds, as JSON on one line, and empties it. Runs on the system's Python."""

import json

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, Gtk  # noqa: E402


class Field(Gtk.TextView):
    def __init__(self) -> None:
        super().__init__(wrap_mode=Gtk.WrapMode.CHAR)
        self.connect("key-press-event", self.on_key)
        self.ready = self.connect("focus-in-event", self.on_focus)

    def on_focus(self, *_: object) -> bool:
        self.disconnect(self.ready)
        print('"ready"', flush=True)
        return False

    def on_key(self, _: object, event: Gdk.EventKey) -> bool:
        if event.keyval != Gdk.KEY_F9:
            return False
        buffer = self.get_buffer()
        print(json.dumps(buffer.get_text(*buffer.get_bounds(), True)), flush=True)
        buffer.set_text("")
        return True


window = Gtk.Window(title="a GTK field")
window.connect("destroy", Gtk.main_quit)
window.add(Field())
window.maximize()
window.show_all()
Gtk.main()
