"""The few commands the suite uses, in the words of each family of guests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GuestWords:
    """Command lines of one family."""

    folder: str
    exit_with_3: str = "exit 3"
    echo: str = "echo conformance-mark"
    two_commands: str = "true && echo 'conformance mark'"
    sleep_30: str = "sleep 30"
    check_variable: str = 'test "$CONFORMANCE" = yes'
    show_file: str = "cat {path}"


POSIX = GuestWords(folder="/tmp/")
ANDROID = GuestWords(folder="/data/local/tmp/")
WINDOWS = GuestWords(
    folder="C:\\Windows\\Temp\\",
    echo="Write-Output conformance-mark",
    two_commands="$null; Write-Output 'conformance mark'",
    sleep_30="Start-Sleep 30",
    check_variable="if ($env:CONFORMANCE -ne 'yes') { exit 1 }",
    show_file="Get-Content {path}",
)


def words_of(family: str) -> GuestWords:
    """Return the words of a platform family."""
    return {"windows": WINDOWS, "android": ANDROID}.get(family, POSIX)
