"""How each kind of X server is started for a test: nothing of it reaches beyond this machine, or needs a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

XVFB, XVNC, XORG = "Xvfb", "Xvnc", "Xorg"
XORG_DRIVER = Path("/usr/lib/xorg/modules/drivers/dummy_drv.so")

# No input devices and no graphics card: the pointer and keyboard are XTest's, the picture is memory of the driver.
_XORG_CONFIG = """
Section "ServerFlags"
  Option "AutoAddDevices" "false"
  Option "AutoEnableDevices" "false"
  Option "AutoAddGPU" "false"
EndSection
Section "Device"
  Identifier "card"
  Driver "dummy"
  VideoRam 65536
  Option "Monitor-DUMMY0" "monitor"
EndSection
Section "Monitor"
  Identifier "monitor"
  HorizSync 5.0-1000.0
  VertRefresh 5.0-200.0
  Modeline "{name}" {modeline}
  Option "PreferredMode" "{name}"
EndSection
Section "Screen"
  Identifier "screen"
  Device "card"
  Monitor "monitor"
  DefaultDepth 24
EndSection
"""


def modeline(size: tuple[int, int]) -> str:
    """Return the timings of a mode; only the driver's rules on their order matter, since there is no monitor."""
    width, height = size
    across = [width, width + 48, width + 80, width + 160]
    down = [height, height + 3, height + 6, height + 30]
    return f"{across[-1] * down[-1] * 60 / 1e6:.2f} {' '.join(map(str, across + down))}"


def server_argv(server: str, folder: Path, size: tuple[int, int], common: Sequence[str]) -> list[str]:
    """Return the command line of a server whose screen has this size; its files go to ``folder``."""
    width, height = size
    if server == XVFB:
        return [XVFB, "-screen", "0", f"{width}x{height}x24", *common]
    if server == XORG:
        config = folder / "xorg.conf"
        config.write_text(_XORG_CONFIG.format(name=f"{width}x{height}", modeline=modeline(size)))
        files = ["-config", str(config), "-logfile", str(folder / "xorg.log")]
        return [XORG, *files, "-novtswitch", "-sharevts", *common]
    argv = [XVNC, "-geometry", f"{width}x{height}", "-depth", "24", "-SecurityTypes", "None", "-rfbport", "-1"]
    return [*argv, "-rfbunixpath", str(folder / "vnc"), *common]  # Debian 13's does not start with no way in
