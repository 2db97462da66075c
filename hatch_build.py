"""The wheel's build hook: C sources always, built programs where a compiler and the headers are there.

Without them the wheel is pure Python and works all the same; ``gym-anything doctor`` then names the packages to install
and ``gym-anything doctor --fix`` builds the programs from the shipped sources.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SOURCES = "gym_anything/_native/src"
_PROGRAMS = "gym_anything/_native/bin"


class NativeBuildHook(BuildHookInterface[Any]):
    """Adds ``_native/src`` and, where they can be built, ``_native/bin/<program>`` to a wheel."""

    PLUGIN_NAME = "custom"
    _scratch: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what can be built. An editable install builds on first use instead, since its sources change."""
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root) / "src"))
        try:
            self._add(build_data)
        finally:
            sys.path.pop(0)

    def _add(self, build_data: dict[str, Any]) -> None:
        from gym_anything.errors import NativeProgramMissing
        from gym_anything.runtime.native import build, programs

        root = Path(self.root) / "native"
        include = build_data["force_include"]
        self._scratch = Path(tempfile.mkdtemp(prefix="ga-wheel-"))
        for name in programs.program_names(root):
            for file in programs.source_files(root, name):
                include[str(file)] = f"{_SOURCES}/{file.relative_to(root).as_posix()}"
            digest = programs.source_digest(root, name)
            try:
                build.compile_program(root, name, digest, self._scratch / name)
            except NativeProgramMissing as missing:
                self.app.display_warning(f"gym-anything: {missing}")
                continue
            record = self._scratch / f"{name}.digest"
            record.write_text(f"{digest} {programs.machine()}\n")
            for file in (self._scratch / name, record):
                include[str(file)] = f"{_PROGRAMS}/{file.name}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-linux_{programs.machine()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the scratch folder once the wheel is written."""
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
