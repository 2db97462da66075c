"""The look of a desktop: settings of the window manager, the panel, the launchers and the toolkits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gym_anything.runtime.session.desktop_options import DesktopOptions

FOLDER = "/etc/gym-anything"
"""Where these files lie in the world."""
_ADWAITA = "/usr/share/icons/Adwaita/48x48"
_HICOLOR = "/usr/share/icons/hicolor/48x48/apps"

Exists = Callable[[str], bool]
"""Tells whether a path exists in the system the desktop is on."""


@dataclass(frozen=True)
class Application:
    """A program a person would look for in the panel or the menu."""

    key: str
    title: str
    program: str
    icons: tuple[str, ...]
    in_panel: bool = True


APPLICATIONS = (
    Application("files", "Files", "pcmanfm", (f"{_ADWAITA}/legacy/system-file-manager.png", f"{_HICOLOR}/pcmanfm.png")),
    Application("terminal", "Terminal", "xterm", (f"{_ADWAITA}/legacy/utilities-terminal.png",)),
    Application("editor", "Text Editor", "mousepad", (f"{_HICOLOR}/org.xfce.mousepad.png", f"{_HICOLOR}/mousepad.png")),
    Application("browser", "Web Browser", "chromium", (f"{_HICOLOR}/chromium.png",)),
    Application("spreadsheet", "Spreadsheet", "gnumeric", (f"{_HICOLOR}/gnumeric.png",)),
    Application("writer", "Writer", "lowriter", (f"{_HICOLOR}/libreoffice-writer.png",), in_panel=False),
    Application("calc", "Calc", "localc", (f"{_HICOLOR}/libreoffice-calc.png",), in_panel=False),
    Application("image-editor", "Image Editor", "gimp", (f"{_HICOLOR}/gimp.png",), in_panel=False),
)


def paths_asked() -> list[str]:
    """Return every path that ``installed_applications`` and ``desktop_files`` may ask for."""
    return [path for app in APPLICATIONS for path in (f"/usr/bin/{app.program}", *app.icons)]


def _on_this_host(path: str) -> bool:
    return Path(path).exists()


def installed_applications(exists: Exists = _on_this_host) -> list[Application]:
    """Return the known applications of this host, or of the system in which ``exists`` looks."""
    return [app for app in APPLICATIONS if exists(f"/usr/bin/{app.program}")]


def desktop_files(
    applications: Sequence[Application], folder: str, etc: str = "/etc", exists: Exists = _on_this_host
) -> dict[str, str]:
    """Return path -> text of everything the desktop reads: its own in ``folder``, the toolkits' below ``etc``."""
    files = {
        f"{folder}/openbox.xml": _openbox(folder),
        f"{folder}/menu.xml": _menu(applications),
        f"{folder}/tint2rc": _tint2(applications, folder),
        f"{etc}/gtk-3.0/settings.ini": "[Settings]\n" + "".join(f"gtk-{k}={v}\n" for k, v in _GTK.items()),
        f"{etc}/gtk-2.0/gtkrc": 'gtk-theme-name="Adwaita"\ngtk-icon-theme-name="Adwaita"\ngtk-cursor-blink=0\n',
    }
    for app in applications:
        files[f"{folder}/{app.key}.desktop"] = _launcher(app, exists)
    return files


# Nothing moves by itself: a blinking caret or a fading menu is a change of the screen that nobody made.
_GTK = {
    "theme-name": "Adwaita",
    "icon-theme-name": "Adwaita",
    "font-name": "Noto Sans 10",
    "cursor-blink": "0",
    "enable-animations": "0",
    "recent-files-max-age": "0",
}

_XTERM = ("xterm", "-fa", "DejaVu Sans Mono", "-fs", "11", "-bg", "#1d2430", "-fg", "#e8ecf1", "-geometry", "100x28")


def _command(app: Application) -> str:
    """Return the command line that starts the application."""
    if app.program == "xterm":
        return " ".join(f'"{word}"' if " " in word or "#" in word else word for word in _XTERM)
    return app.program


def _launcher(app: Application, exists: Exists) -> str:
    # An absolute path: looked up by name, one icon costs tens of thousands of file accesses when the panel starts.
    icon = next((path for path in app.icons if exists(path)), "")
    lines = ("[Desktop Entry]", "Type=Application", f"Name={app.title}", f"Exec={_command(app)}", f"Icon={icon}")
    return "\n".join(lines) + "\n"


def _menu(applications: Sequence[Application]) -> str:
    items = "".join(
        f'    <item label="{app.title}"><action name="Execute"><command>{_escape(_command(app))}</command>'
        "</action></item>\n"
        for app in applications
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<openbox_menu xmlns="http://openbox.org/3.4/menu">\n'
        f'  <menu id="root-menu" label="Applications">\n{items}  </menu>\n</openbox_menu>\n'
    )


def chromium_flags(options: DesktopOptions, *, wants_tree: bool, own_sandbox: bool = True) -> str:
    """Return our settings for Debian's Chromium: no questions at its start, no search for a GPU that is not there.

    A click before the first picture of a page is kept, too: Chromium drops it in silence otherwise.
    Args: own_sandbox: False where the world forbids the namespaces that Chromium's own sandbox is made of.
    """
    flags = ["--no-first-run", "--password-store=basic", "--disable-search-engine-choice-screen"]
    flags.append("--allow-pre-commit-input")
    if not options.opengl:
        flags.append("--disable-gpu")
    if not own_sandbox:
        flags += ["--no-sandbox", "--test-type"]  # the second leaves out the bar that warns of the first
    if wants_tree:
        flags.append("--force-renderer-accessibility")
    return f'export CHROMIUM_FLAGS="$CHROMIUM_FLAGS {" ".join(flags)}"\n'


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


_KEYS = {
    "A-F4": "Close",
    "A-Tab": "NextWindow",
    "A-S-Tab": "PreviousWindow",
    "W-d": "ToggleShowDesktop",
}
_FRAME_BINDS = (
    ("Titlebar", "A-Left", "Press", ("Focus", "Raise")),
    ("Titlebar", "Left", "Press", ("Focus", "Raise")),
    ("Titlebar", "Left", "Drag", ("Move",)),
    ("Titlebar", "Left", "DoubleClick", ("ToggleMaximize",)),
    ("Titlebar", "Right", "Press", ("Focus", "Raise", "Menu")),
    ("Top", "Left", "Drag", ("Resize",)),
    ("Bottom Left Right TLCorner TRCorner BLCorner BRCorner", "Left", "Drag", ("Resize",)),
    ("Client", "Left", "Press", ("Focus", "Raise")),
    ("Client", "Middle", "Press", ("Focus", "Raise")),
    ("Client", "Right", "Press", ("Focus", "Raise")),
    ("Frame", "A-Left", "Drag", ("Move",)),
    ("Close", "Left", "Click", ("Close",)),
    ("Iconify", "Left", "Click", ("Iconify",)),
    ("Maximize", "Left", "Click", ("ToggleMaximize",)),
    ("Root", "Right", "Press", ("RootMenu",)),
)


def _openbox(folder: str) -> str:
    keys = "".join(f'<keybind key="{key}"><action name="{name}"/></keybind>' for key, name in _KEYS.items())
    binds = "".join(
        f'<context name="{place}"><mousebind button="{button}" action="{what}">{"".join(map(_action, actions))}'
        "</mousebind></context>"
        for place, button, what, actions in _FRAME_BINDS
    )
    fonts = "".join(
        f'<font place="{place}"><name>Noto Sans</name><size>10</size></font>'
        for place in ("ActiveWindow", "InactiveWindow", "MenuHeader", "MenuItem")
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<openbox_config xmlns="http://openbox.org/3.4/rc">\n'
        "<focus><focusNew>yes</focusNew><followMouse>no</followMouse></focus>\n"
        "<placement><policy>Smart</policy><center>yes</center></placement>\n"
        f"<theme><name>Clearlooks</name><titleLayout>NLIMC</titleLayout><animateIconify>no</animateIconify>{fonts}</theme>\n"
        "<desktops><number>1</number><popupTime>0</popupTime></desktops>\n"
        f"<keyboard>{keys}</keyboard>\n"
        f"<mouse><dragThreshold>4</dragThreshold><doubleClickTime>400</doubleClickTime>{binds}</mouse>\n"
        f"<menu><file>{folder}/menu.xml</file></menu>\n</openbox_config>\n"
    )


def _action(name: str) -> str:
    if name == "Menu":
        return '<action name="ShowMenu"><menu>client-menu</menu></action>'
    if name == "RootMenu":
        return '<action name="ShowMenu"><menu>root-menu</menu></action>'
    return f'<action name="{name}"/>'


def _tint2(applications: Sequence[Application], folder: str) -> str:
    launchers = "".join(f"launcher_item_app = {folder}/{app.key}.desktop\n" for app in applications if app.in_panel)
    return _TINT2 + launchers


# No clock: equal runs look equal, and nothing wakes a machine that rests.
_TINT2 = """\
rounded = 0
border_width = 0
background_color = #1b2230 100
rounded = 4
border_width = 0
background_color = #ffffff 10
background_color_hover = #ffffff 20
rounded = 4
border_width = 0
background_color = #3d7bd9 90
panel_items = LTS
panel_size = 100% 40
panel_padding = 8 4 8
panel_background_id = 1
panel_position = bottom center horizontal
panel_layer = normal
panel_window_name = panel
strut_policy = follow_size
disable_transparency = 1
font_shadow = 0
taskbar_mode = single_desktop
taskbar_padding = 4 0 4
taskbar_background_id = 0
task_text = 1
task_icon = 1
task_centered = 0
task_maximum_size = 220 32
task_padding = 8 2 6
task_font = Noto Sans 9
task_font_color = #e8ecf1 100
task_background_id = 2
task_active_background_id = 3
task_iconified_background_id = 2
task_thumbnail = 0
mouse_left = toggle_iconify
systray_padding = 4 2 4
systray_background_id = 0
systray_icon_size = 20
launcher_padding = 2 0 6
launcher_background_id = 0
launcher_icon_size = 28
launcher_tooltip = 1
startup_notifications = 0
tooltip_show_timeout = 0.5
tooltip_padding = 6 3
tooltip_background_id = 1
tooltip_font = Noto Sans 9
tooltip_font_color = #e8ecf1 100
"""
