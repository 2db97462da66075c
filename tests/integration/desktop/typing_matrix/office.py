"""A LibreOffice document to type into."""

from __future__ import annotations

import contextlib
import secrets
import subprocess

from gym_anything.actions.model import PressKeys
from tests.integration.desktop.typing_matrix.target import FIELDS, SYSTEM_PYTHON, Target, cannot_import

# Text is compared as typed: nothing corrects, completes, capitalises or checks it.
AUTOMATIC = {
    "org.openoffice.Office.Common/AutoCorrect": [
        *("UseReplacementTable", "TwoCapitalsAtStart", "CapitalAtStartSentence", "ChangeUnderlineWeight"),
        *("SetInetAttribute", "ChangeOrdinalNumber", "AddNonBreakingSpace", "ChangeDash", "RemoveDoubleSpaces"),
        *("ReplaceSingleQuote", "ReplaceDoubleQuote", "CorrectAccidentalCapsLock", "TransliterateRTL"),
        "ChangeAngleQuotes",
    ],
    "org.openoffice.Office.Writer/AutoFunction/Format/ByInput": ["Enable"],
    "org.openoffice.Office.Writer/AutoFunction/Completion": ["Enable"],
    "org.openoffice.Office.Linguistic/SpellChecking": ["IsSpellAuto"],
    "org.openoffice.Office.Common/Misc": ["ShowTipOfTheDay"],
    "org.openoffice.Office.Common/Save/Document": ["AutoSave"],
}
SETTING = '<item oor:path="/{}"><prop oor:name="{}" oor:op="fuse"><value>false</value></prop></item>'


class OfficeTarget(Target):
    """A LibreOffice document on LibreOffice's own way to the X server, read by UNO.

    That is what Debian installs where there is no desktop. It has no key of its own to say that it is done: a line end is typed.
    """

    name = "office"
    programs = ("soffice",)
    plugin = "gen"
    reader: subprocess.Popen[bytes] | None = None

    @classmethod
    def missing(cls) -> str:
        return super().missing() or cannot_import("import uno")

    def start(self) -> None:
        settings = self.screen.folder / "office" / "user" / "registrymodifications.xcu"
        settings.parent.mkdir(parents=True)
        items = "".join(SETTING.format(path, name) for path, names in AUTOMATIC.items() for name in names)
        namespaces = 'xmlns:oor="http://openoffice.org/2001/registry"'
        settings.write_text(f'<?xml version="1.0" encoding="UTF-8"?><oor:items {namespaces}>{items}</oor:items>')
        pipe = "ga" + secrets.token_hex(8)
        argv = ["soffice", "--writer", "--norestore", "--nologo", "--nofirststartwizard", "--nolockcheck"]
        installation = f"-env:UserInstallation=file://{settings.parents[1]}"
        plugin = f"SAL_USE_VCLPLUGIN={self.plugin}"
        self.office = self.screen.start(["env", plugin, *argv, installation, f"--accept=pipe,name={pipe};urp;"])
        self.reader = self.start_program(SYSTEM_PYTHON, FIELDS / "office.py", pipe)

    def take(self, wanted: str = "") -> str:
        self.client.send([PressKeys(("Return",))])
        return self.ask(f"take {wanted.count(chr(10)) + 1}").removesuffix("\n")

    def ask(self, command: str) -> str:
        """Have the reader in ``fields/office.py`` do something, and return its answer."""
        self._tell(command)
        return self.next_given()

    def _tell(self, command: str) -> None:
        assert self.reader and self.reader.stdin
        self.reader.stdin.write(command.encode() + b"\n")
        self.reader.stdin.flush()

    def stop(self) -> None:
        """Ask it to end: when killed it would leave its pipes behind."""
        if self.reader is None:
            return
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self._tell("end")
            self.office.wait(10)


class GtkOfficeTarget(OfficeTarget):
    """The same with ``libreoffice-gtk3``, which takes keys its own way, and is slow."""

    name = "office_gtk3"
    is_quick = False
    plugin = "gtk3"
