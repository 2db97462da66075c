"""The applications of the typing matrix, by name."""

from __future__ import annotations

from tests.integration.desktop.typing_matrix.browser import ChromiumTarget
from tests.integration.desktop.typing_matrix.office import GtkOfficeTarget, OfficeTarget
from tests.integration.desktop.typing_matrix.target import Target
from tests.integration.desktop.typing_matrix.terminal import XtermTarget
from tests.integration.desktop.typing_matrix.toolkits import GtkTarget, QtTarget

MATRIX: dict[str, type[Target]] = {
    target.name: target for target in (XtermTarget, GtkTarget, QtTarget, ChromiumTarget, OfficeTarget)
}
TARGETS: dict[str, type[Target]] = {**MATRIX, GtkOfficeTarget.name: GtkOfficeTarget}
"""The five of the matrix, and one more that differs."""
