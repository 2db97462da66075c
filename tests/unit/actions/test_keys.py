"""T6: one key table for every vendor's vocabulary; an unknown key names near matches."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_anything.actions.chords import chord, keys_of
from gym_anything.actions.key_table import UNICODE_KEYSYM_BASE, key_table
from gym_anything.actions.keys import canonical_key, char_of_keysym, is_typable, keysym_for_char, keysym_of
from gym_anything.errors import ActionError
from tests.conftest import RequireBackend

pytestmark = pytest.mark.unit

PYAUTOGUI = r"""! " # $ % & ' ( ) * + , - . / 0 1 2 3 4 5 6 7 8 9 : ; < = > ? @ [ \ ] ^ _ ` a b c d e f g h i j k l m n o
    p q r s t u v w x y z { | } ~ add alt altleft altright apps backspace browserback browserfavorites browserforward
    browserhome browserrefresh browsersearch browserstop capslock clear convert ctrl ctrlleft ctrlright decimal del
    delete divide down end enter esc escape execute f1 f10 f11 f12 f13 f14 f15 f16 f17 f18 f19 f2 f20 f21 f22 f23 f24
    f3 f4 f5 f6 f7 f8 f9 fn hanguel hangul hanja help home insert junja kana kanji launchapp1 launchapp2 launchmail
    launchmediaselect left modechange multiply nexttrack nonconvert num0 num1 num2 num3 num4 num5 num6 num7 num8 num9
    numlock pagedown pageup pause pgdn pgup playpause prevtrack print printscreen prntscrn prtsc prtscr return right
    scrolllock select separator shift shiftleft shiftright sleep space stop subtract tab up volumedown volumemute
    volumeup win winleft winright yen command option optionleft optionright"""
BROWSER = """Alt AltGraph CapsLock Control Fn Hyper Meta NumLock ScrollLock Shift Super Enter Tab Spacebar ArrowDown
    ArrowLeft ArrowRight ArrowUp End Home PageDown PageUp Backspace Clear Delete Insert ContextMenu Escape Execute Find
    Help Pause Select PrintScreen F1 F24 AudioVolumeDown AudioVolumeUp AudioVolumeMute MediaPlayPause MediaTrackNext
    MediaTrackPrevious MediaStop BrowserBack BrowserForward BrowserRefresh LaunchMail KanaMode HangulMode HanjaMode
    ControlLeft ControlRight ShiftLeft ShiftRight AltLeft AltRight MetaLeft MetaRight OSLeft OSRight KeyA KeyZ Digit0
    Digit9 Numpad0 Numpad9 NumpadAdd NumpadSubtract NumpadMultiply NumpadDivide NumpadDecimal NumpadEnter NumpadEqual
    NumpadComma Backquote Minus Equal BracketLeft BracketRight Backslash Semicolon Quote Comma Period Slash
    IntlBackslash IntlYen Convert NonConvert ControlOrMeta"""
COMPUTER_TOOLS = r"""CTRL ALT SHIFT META SUPER WIN CMD COMMAND OPTION ESC ENTER RETURN TAB SPACE BACKSPACE DELETE INSERT
    HOME END PAGEUP PAGEDOWN ARROWUP ARROWDOWN ARROWLEFT ARROWRIGHT UP DOWN LEFT RIGHT CAPSLOCK NUMLOCK SCROLLLOCK
    PRINTSCREEN F1 F12 A Z 0 9 / \ , . page_up page_down Page_Up Page_Down Return BackSpace KP_0 KP_Enter Super_L
    Control_L Alt_L ISO_Level3_Shift arrow_left arrow-left Print_Screen print_screen caps_lock PgDn PgUp Del Ins altgr"""
OTHERS = """VK_RETURN VK_BACK VK_TAB VK_LCONTROL VK_RMENU VK_MENU VK_LWIN VK_APPS VK_SNAPSHOT VK_OEM_COMMA VK_OEM_1
    VK_NUMPAD5 VK_F5 VK_A VK_PRIOR VK_CAPITAL KEY_LEFTCTRL KEY_ENTER KEY_A KEY_1 KEY_KP5 KEY_KPPLUS KEY_LEFTMETA
    KEY_LEFTBRACE KEY_SYSRQ KEY_102ND KEY_F10 KEY_PAGEDOWN KEYCODE_BACK KEYCODE_HOME KEYCODE_DEL KEYCODE_DPAD_LEFT
    KEYCODE_ENTER KEYCODE_A KEYCODE_0 KEYCODE_VOLUME_UP Key.enter Key.ctrl_l Key.cmd Key.page_up LEFT_CONTROL
    ARROW_LEFT NUMPAD0 Oemcomma LControlKey ⌘ ⌥ ⇧ ⌃"""
VOCABULARIES = {*PYAUTOGUI.split(), "\t", "\n", "\r", " ", *BROWSER.split(), *COMPUTER_TOOLS.split(), *OTHERS.split()}


@pytest.mark.parametrize("name", sorted(VOCABULARIES))
def test_every_vocabulary_names_a_key_with_a_number(name: str) -> None:
    """T6"""
    canonical = canonical_key(name)
    assert canonical_key(canonical) == canonical
    assert keysym_of(canonical) > 0


@pytest.mark.parametrize(
    ("name", "canonical", "number"),
    [
        ("enter", "Return", 0xFF0D),
        ("\n", "Return", 0xFF0D),
        ("a", "a", 0x61),
        ("A", "A", 0x41),
        (" ", "space", 0x20),
        (",", "comma", 0x2C),
        ("é", "eacute", 0xE9),
        ("e\N{COMBINING ACUTE ACCENT}", "eacute", 0xE9),
        ("€", "U20AC", 0x010020AC),
        ("EuroSign", "U20AC", 0x010020AC),
        ("Cyrillic_a", "U0430", 0x01000430),
        ("U20AC", "U20AC", 0x010020AC),
        ("u+00e9", "eacute", 0xE9),
        ("U0001F600", None, 0),
        ("U1F600", "U1F600", 0x0101F600),
        ("Prior", "Page_Up", 0xFF55),
        ("cmd", "Super_L", 0xFFEB),
        ("Meta_L", "Meta_L", 0xFFE7),
        ("multiply", "multiply", 0xD7),
        ("KEYCODE_DEL", "BackSpace", 0xFF08),
        ("KEY_LEFTBRACE", "bracketleft", 0x5B),
        ("left shift", "Shift_L", 0xFFE1),
    ],
)
def test_a_name_means_this_key_and_number(name: str, canonical: str | None, number: int) -> None:
    if canonical is None:
        with pytest.raises(ActionError):
            canonical_key(name)
        return
    assert (canonical_key(name), keysym_of(name)) == (canonical, number)


@pytest.mark.parametrize(
    ("spec", "keys"),
    [
        ("ctrl+shift+t", ("Control_L", "Shift_L", "t")),
        ("CTRL+,", ("Control_L", "comma")),
        ("CTRL+C", ("Control_L", "c")),
        ("ctrl++", ("Control_L", "plus")),
        ("ctrl + +", ("Control_L", "plus")),
        ("ctrl--", ("Control_L", "minus")),
        ("ctrl c", ("Control_L", "c")),
        ("ctrl-alt-delete", ("Control_L", "Alt_L", "Delete")),
        ("<Control>s", ("Control_L", "s")),
        ("<ctrl>+<alt>+t", ("Control_L", "Alt_L", "t")),
        ("<shift>", ("Shift_L",)),
        ("shift left", ("Shift_L", "Left")),
        ("shiftleft", ("Shift_L",)),
        ("page down", ("Page_Down",)),
        ("a+b", ("a", "b")),
        ("+", ("plus",)),
        ("-", ("minus",)),
        ("A", ("A",)),
        ("super+É", ("Super_L", "eacute")),
    ],
)
def test_a_chord_string_expands(spec: str, keys: tuple[str, ...]) -> None:
    assert keys_of(spec) == keys


def test_an_upper_case_letter_beside_a_modifier_is_the_key_not_a_second_shift() -> None:
    assert chord(["CTRL", "C"]) == ("Control_L", "c")
    assert chord(["shift", "A"]) == ("Shift_L", "a")
    assert chord(["C"]) == ("C",)


@pytest.mark.parametrize(
    "spec", ["", "  ", "ctrl+", "+a", "++", "ctrl+nosuch", "hello world", "nosuch", "\x00", "\ud800", "a" * 9999]
)
def test_an_unknown_key_or_broken_chord_is_an_error(spec: str) -> None:
    with pytest.raises(ActionError):
        keys_of(spec)


def test_a_key_twice_in_one_chord_is_refused() -> None:
    """It cannot be pressed while it is down, so the second press would be reported and not done."""
    for names in (["tab", "Tab"], ["ctrl", "Control_L", "a"], ["ctrl+ctrl"]):
        with pytest.raises(ActionError, match="twice"):
            chord(names)


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("entr", "Return"),
        ("ctrll+a", "Control_L"),
        ("pagedwon", "Page_Down"),
        ("EACUTE", "eacute"),
        ("Escpe", "Escape"),
    ],
)
def test_an_unknown_key_names_near_matches(wrong: str, near: str) -> None:
    """T6"""
    if wrong == "ctrll+a":
        assert keys_of(wrong)[0] == near  # pynput's ctrl_l
        return
    with pytest.raises(ActionError) as caught:
        keys_of(wrong)
    assert near in str(caught.value)
    assert near in caught.value.detail["near"]


@pytest.mark.parametrize("value", [None, 3, True, b"a", ["a"]])
def test_a_key_is_named_by_a_string(value: object) -> None:
    with pytest.raises(ActionError):
        canonical_key(value)  # type: ignore[arg-type]


def test_every_alias_leads_to_a_known_key_and_no_alias_hides_an_x11_name() -> None:
    table = key_table()
    canonical = set(table.name_of.values())
    for vocabulary, aliases in table.alias_of.items():
        for alias, name in aliases.items():
            assert canonical_key(name) == name, (vocabulary, alias, name)
    for name in canonical:
        assert canonical_key(name) == name


def test_keysym_numbers_agree_with_the_x11_headers(require_backend: RequireBackend) -> None:
    header = Path("/usr/include/X11/keysymdef.h")
    require_backend("x11-headers", header.exists(), "no /usr/include/X11/keysymdef.h; apt-get install x11proto-dev")
    line = re.compile(r"#define XK_(\w+)\s+0x([0-9a-f]+)\s*(?:/\*\s*U\+([0-9A-F]{4,6}))?")
    number_of: dict[str, int] = {}
    unicode_of: dict[int, int] = {}
    for match in map(line.match, header.read_text("latin-1").splitlines()):
        if match:
            number_of[match[1]] = int(match[2], 16)
            if match[3]:
                unicode_of.setdefault(int(match[2], 16), int(match[3], 16))
    checked = 0
    for name, number in key_table().number_of.items():
        if name.startswith("XF86"):
            continue
        codepoint = unicode_of.get(number_of[name], 0)
        wanted = UNICODE_KEYSYM_BASE + codepoint if codepoint >= 0x100 else number_of[name]
        assert number == wanted, name
        checked += 1
    assert checked > 900


@settings(max_examples=500, deadline=None)
@given(st.characters())
def test_every_character_has_a_keysym_that_types_it_or_is_refused(char: str) -> None:
    """T2: any Unicode character is one keysym and back."""
    if not is_typable(char):
        with pytest.raises(ActionError):
            keysym_for_char(char)
        return
    keysym = keysym_for_char(char)
    if char in "\n\r\t\b":
        assert char_of_keysym(keysym) is None
        return
    assert char_of_keysym(keysym) == char
    assert keysym_of(canonical_key(char)) in (keysym, keysym_of(canonical_key(canonical_key(char))))


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.text(max_size=12), st.text(string.ascii_letters + "+-_ <>", max_size=20)))
def test_any_string_is_a_chord_of_known_keys_or_a_typed_error(spec: str) -> None:
    try:
        keys = keys_of(spec)
    except ActionError:
        return
    assert keys
    assert len(set(keys)) == len(keys)
    for key in keys:
        assert canonical_key(key) == key
        assert keysym_of(key) > 0
