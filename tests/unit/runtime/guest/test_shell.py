from __future__ import annotations

import base64
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything.runtime.guest.shell import OS_FAMILIES, OsFamily, join, quote, shell_argv

pytestmark = pytest.mark.unit

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_a_joined_posix_line_splits_into_the_same_words(argv: list[str]) -> None:
    for family in ("linux", "macos", "android"):
        assert shlex.split(join(argv, family)) == argv


@given(TEXTS)
def test_a_powershell_quote_has_no_lonely_quote_inside(text: str) -> None:
    inner = quote(text, "windows")[1:-1]
    for mark in "'\u2018\u2019\u201a\u201b":
        inner = inner.replace(mark * 2, "")
        assert mark not in inner


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["ls", "-l", "a b"], "& 'ls' '-l' 'a b'"),
        (["it's"], "& 'it''s'"),
        (["p", 'say "hi"'], "& 'p' 'say \\\"hi\\\"'"),
        (["p", 'a\\"b'], "& 'p' 'a\\\\\\\"b'"),
        (["p", ""], "& 'p' '\"\"'"),
        (["p", "C:\\my folder\\"], "& 'p' 'C:\\my folder\\\\'"),
        (["p", "C:\\folder\\"], "& 'p' 'C:\\folder\\'"),
        (["p", "$x `n %y%"], "& 'p' '$x `n %y%'"),
    ],
)
def test_windows_lines_look_like_this(argv: list[str], line: str) -> None:
    assert join(argv, "windows") == line


def test_a_whole_line_reaches_the_login_shell_untouched() -> None:
    line = "cd /tmp && echo \"$HOME\" | tee 'a b'; exit 3"
    assert shell_argv(line) == ["bash", "-lc", line]
    assert shell_argv(line, "macos") == ["/bin/bash", "-lc", line]
    assert shell_argv(line, "android") == ["sh", "-c", line]


def test_a_powershell_line_travels_encoded_and_gives_its_exit_code() -> None:
    argv = shell_argv('Write-Output "é\'$x"\nexit 3', "windows")
    assert argv[:-1] == [
        "powershell.exe", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-EncodedCommand"
    ]  # fmt: skip
    script = base64.b64decode(argv[-1]).decode("utf-16-le")
    assert '\nWrite-Output "é\'$x"\nexit 3\n' in script and "exit $LASTEXITCODE" in script


@pytest.mark.parametrize("family", OS_FAMILIES)
def test_a_nul_byte_or_nothing_is_refused(family: OsFamily) -> None:
    for refused in (lambda: quote("a\0", family), lambda: join(["a\0"], family), lambda: shell_argv("a\0", family)):
        with pytest.raises(ValueError, match=r"NUL|null"):
            refused()
    with pytest.raises(ValueError, match="empty"):
        join([], family)
