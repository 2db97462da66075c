"""What of the host a local world may see: a list of what is allowed; all else is not there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gym_anything.runtime.runners.local.sandbox.plan import BindPlan

_ETC = (
    "ImageMagick-*", "OpenCL", "R", "X11", "adduser.conf", "alternatives", "bash.bashrc", "bash_completion.d",
    "ca-certificates", "ca-certificates.conf", "chromium", "dbus-1", "dconf", "debian_version",
    "default/keyboard", "default/locale", "deluser.conf", "dictionaries-common", "emacs", "fonts", "gai.conf", "gdb",
    "ghostscript", "gimp", "glvnd", "gnome", "groff", "gtk-2.0", "gtk-4.0", "host.conf", "inputrc", "java-*", "kde",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "libpaper.d", "libreoffice", "locale.alias", "locale.conf",
    "locale.gen", "localtime", "login.defs", "lsb-release", "magic", "magic.mime", "mailcap", "manpath.config",
    "matplotlibrc", "mime.types", "netconfig", "networks", "openal", "openmpi", "os-release", "pam.conf", "pam.d",
    "papersize", "perl",
    "profile.d", "protocols", "pulse", "python3*", "rpc", "security", "services", "sgml", "shells", "skel", "ssl",
    "terminfo", "texmf", "thunderbird", "timezone", "ucf.conf", "vim", "vulkan", "wgetrc", "xattr.conf", "xdg", "xml",
)  # fmt: skip
"""Names below ``/etc``: configuration of programs, nothing of this host's people, network or services."""
_VAR = (
    "/var/cache/fontconfig",
    "/var/lib/aspell",
    "/var/lib/dictionaries-common",
    "/var/lib/dpkg",
    "/var/lib/ghostscript",
    "/var/lib/openbox",
    "/var/lib/xkb",
)
_UNMERGED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


def host_binds(extra: Sequence[str] = ()) -> list[BindPlan]:
    """Return what is shown read-only at its own path: programs, their configuration, caches, and ``extra``."""
    folders = [path for path in map(Path, _UNMERGED) if not path.is_symlink()]
    etc = [path for path in _etc_paths() if not path.is_symlink()]
    shown = [path for path in (Path("/usr"), *folders, *etc, *map(Path, _VAR), *map(Path, extra)) if path.exists()]
    return [BindPlan(source=str(path), target=str(path), map_ids=str(path) == "/usr") for path in shown]


def host_links() -> dict[str, str]:
    """Return the links of a merged ``/usr`` (``/bin`` and friends) and the links in the allowed part of ``/etc``."""
    return {str(path): str(path.readlink()) for path in (*map(Path, _UNMERGED), *_etc_paths()) if path.is_symlink()}


def chromium_settings() -> dict[str, str]:
    """Return the start-up settings of Debian's Chromium on this host, path -> text; ours are added beside them."""
    return {str(path): path.read_text(errors="replace") for path in Path("/etc/chromium.d").glob("*") if path.is_file()}


def resolv_conf() -> str:
    """Return the host's name servers that a world can reach (none of its own loopback)."""
    try:
        lines = Path("/etc/resolv.conf").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    kept = [line for line in lines if line.split()[:1] and line.split()[0] in ("nameserver", "search", "options")]
    return "".join(f"{line}\n" for line in kept if not line.startswith(("nameserver 127.", "nameserver ::1")))


def _etc_paths() -> list[Path]:
    """Return the allowed paths below ``/etc`` that exist."""
    return sorted(path for pattern in _ETC for path in Path("/etc").glob(pattern))


def programs_mark() -> str:
    """Return a short mark of the software installed on this host: another mark, another world."""
    marks = []
    for path in map(Path, ("/var/lib/dpkg/status", "/etc/debian_version", "/usr/local/bin")):
        try:
            found = path.stat()
        except OSError:
            continue
        marks.append(f"{path}:{found.st_size}:{found.st_mtime_ns}")
    return "|".join(marks)
