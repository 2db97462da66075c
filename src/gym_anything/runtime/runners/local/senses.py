"""The senses part of the local runner: those of every desktop; its accessibility tree needs programs of this host."""

from __future__ import annotations

from gym_anything.runtime.runners.desktop_senses import DesktopSenses
from gym_anything.runtime.session.ui_tree import missing_packages


class LocalSenses(DesktopSenses):
    """Everything that goes through the desktop service, and the tree."""

    def capture_ui_tree(self) -> str:
        missing = missing_packages()
        if missing:
            raise self.unsupported("ui_tree", f"not installed: {', '.join(missing)}", f"apt-get install {missing[0]}")
        return super().capture_ui_tree()
