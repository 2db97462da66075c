"""What models say, as actions: each vocabulary with its own coordinates; malformed words are refused by rule."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything.actions.coords import GridSpace, PictureSpace
from gym_anything.actions.parse import parse_actions
from gym_anything.agents.builtin.anthropic_computer.actions import Tool as AnthropicTool
from gym_anything.agents.builtin.anthropic_computer.agent import forget_old_pictures
from gym_anything.agents.builtin.openai_computer.actions import Tool as OpenAITool
from gym_anything.agents.builtin.vision_chat.agent import shortened
from gym_anything.agents.builtin.vision_chat.grammar import Said
from gym_anything.agents.builtin.vision_chat.plain_json import PlainJsonGrammar
from gym_anything.agents.builtin.vision_chat.qwen_vl import QwenGrammar
from gym_anything.agents.builtin.vision_chat.ui_tars import UITarsGrammar, scan_calls
from gym_anything.errors import ActionError
from gym_anything.models.messages import Message, Picture

pytestmark = pytest.mark.unit

SCREEN = (2000, 1000)
HALF = PictureSpace(1000, 500)


def tool(name: str, pointer: Any = (8, 9), **given: Any) -> Any:
    return AnthropicTool(HALF, SCREEN).wanted(name, given, pointer)


def mouse(**what: Any) -> dict[str, Any]:
    return {"mouse": what}


@pytest.mark.parametrize(
    ("name", "given", "actions"),
    [
        ("left_click", {"coordinate": [500, 250]}, [mouse(left_click=[1000, 501])]),
        ("double_click", {"coordinate": [0, 0]}, [mouse(double_click=[1, 1])]),
        ("right_click", {}, [mouse(buttons={"right_down": True, "right_up": True})]),
        ("mouse_move", {"coordinate": [999, 499]}, [mouse(move=[1999, 999])]),
        (
            "left_click_drag",
            {"start_coordinate": [0, 0], "coordinate": [10, 10]},
            [mouse(left_click_drag=[[1, 1], [21, 21]])],
        ),
        ("left_click_drag", {"coordinate": [10, 10]}, [mouse(left_click_drag=[[8, 9], [21, 21]])]),
        ("left_mouse_down", {}, [mouse(buttons={"left_down": True})]),
        (
            "scroll",
            {"coordinate": [1, 1], "scroll_direction": "up", "scroll_amount": 4},
            [mouse(move=[3, 3], scroll=-4)],
        ),
        ("scroll", {"scroll_direction": "right", "scroll_amount": 2}, [mouse(hscroll=2)]),
        ("key", {"text": "ctrl+shift+t"}, [{"keyboard": {"keys": ["Control_L", "Shift_L", "t"]}}]),
        ("key", {"text": "Down Down Return"}, [{"keyboard": {"keys": [k]}} for k in ("Down", "Down", "Return")]),
        ("key", {"text": "Tab", "repeat": 2}, [{"keyboard": {"keys": ["Tab"]}}] * 2),
        ("type", {"text": "Grüße\n"}, [{"keyboard": {"text": "Grüße\n"}}]),
        ("wait", {"duration": 1.5}, [{"action": "wait", "time": 1.5}]),
        ("screenshot", {}, [{"action": "screenshot"}]),
        (
            "left_click",
            {"coordinate": [0, 0], "text": "shift"},
            [
                {"keyboard": {"keys_down": ["Shift_L"]}},
                mouse(left_click=[1, 1]),
                {"keyboard": {"keys_up": ["Shift_L"]}},
            ],
        ),
        (
            "hold_key",
            {"text": "a", "duration": 2},
            [{"keyboard": {"keys_down": ["a"]}}, {"action": "wait", "time": 2.0}, {"keyboard": {"keys_up": ["a"]}}],
        ),
    ],
)
def test_the_anthropic_tool(name: str, given: dict[str, Any], actions: list[Any]) -> None:
    assert tool(name, **given).actions == actions


def test_the_anthropic_tool_knows_where_the_pointer_is_and_enlarges() -> None:
    assert tool("mouse_move", coordinate=[500, 250]).pointer == (1000, 501)
    assert tool("cursor_position", pointer=(1000, 501)).said == "X=500,Y=250"
    assert "not known" in tool("cursor_position", pointer=None).said
    assert tool("zoom", region=[100, 100, 200, 150]).region == (201, 201, 199, 99)
    assert tool("zoom", region=[0, 0, 1000, 500]).region is not None, "the far corner may lie on the edge"


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("left_click", {"coordinate": [1000, 0]}, "outside the 1000x500 picture"),
        ("left_click", {"coordinate": ["5", 0]}, "coordinate"),
        ("left_click", {"coordinate": 5}, "coordinate"),
        ("mouse_move", {}, "needs a coordinate"),
        ("scroll", {"scroll_direction": "sideways"}, "scroll_direction"),
        ("scroll", {"scroll_direction": "up", "scroll_amount": -1}, "scroll_amount"),
        ("key", {"text": "ctrl+nonsense"}, "nonsense"),
        ("key", {}, "text is needed"),
        ("key", {"text": "a", "repeat": 1000}, "repeat"),
        ("type", {"text": 5}, "text is needed"),
        ("wait", {"duration": 1e9}, "duration"),
        ("zoom", {"region": [5, 5, 5, 5]}, "empty"),
        ("zoom", {"region": "all"}, "region"),
        ("launch_missiles", {}, "no action"),
    ],
)
def test_what_the_anthropic_tool_cannot_mean_is_refused(name: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(ActionError, match=words):
        tool(name, **given)


def openai(*actions: Any) -> list[dict[str, Any]]:
    return OpenAITool(HALF, SCREEN).actions(actions)


def test_the_openai_tool() -> None:
    assert openai({"type": "click", "x": 500, "y": 250, "button": "left"}) == [mouse(left_click=[1000, 501])]
    assert openai({"type": "click", "x": 0, "y": 0, "button": "wheel"}) == [mouse(middle_click=[1, 1])]
    assert openai({"type": "keypress", "keys": ["CTRL", "C"]}) == [{"keyboard": {"keys": ["Control_L", "c"]}}]
    assert openai({"type": "keypress", "keys": ["ARROWLEFT"]}) == [{"keyboard": {"keys": ["Left"]}}]
    down = {"type": "scroll", "x": 0, "y": 0, "scroll_x": 0, "scroll_y": 320}
    assert openai(down) == [mouse(move=[1, 1], scroll=3)]
    assert openai({**down, "scroll_y": -10, "scroll_x": 100}) == [mouse(move=[1, 1], scroll=-1, hscroll=1)]
    path = [{"x": 0, "y": 0}, {"x": 10, "y": 0}, {"x": 10, "y": 10}]
    assert openai({"type": "drag", "path": path[:2]}) == [mouse(left_click_drag=[[1, 1], [21, 1]])]
    assert [next(iter(a["mouse"])) for a in openai({"type": "drag", "path": path})] == [
        "move", "buttons", "move", "move", "buttons",
    ]  # fmt: skip
    assert openai({"type": "wait"}, {"type": "type", "text": "x"}, {"type": "screenshot"})[1] == {
        "keyboard": {"text": "x"}
    }
    held = openai({"type": "click", "x": 0, "y": 0, "button": "left", "keys": ["SHIFT"]})
    assert held[0] == {"keyboard": {"keys_down": ["Shift_L"]}} and held[-1] == {"keyboard": {"keys_up": ["Shift_L"]}}


@pytest.mark.parametrize(
    "action",
    [
        {}, "click", {"type": "click"}, {"type": "click", "x": 0, "y": 0, "button": "back"}, {"type": "drag", "path": []},
        {"type": "drag", "path": "x"}, {"type": "keypress", "keys": []}, {"type": "keypress", "keys": "CTRL"},
        {"type": "type"}, {"type": "scroll", "x": 0, "y": 0, "scroll_y": "down"}, {"type": "click", "x": -1, "y": 0},
        {"type": "keypress", "keys": ["NOSUCHKEY"]},
    ],
)  # fmt: skip
def test_what_the_openai_tool_cannot_mean_is_refused(action: Any) -> None:
    with pytest.raises(ActionError):
        openai({"type": "wait"}, action)


def qwen(arguments: Any, text: str = "<tool_call>\n{}\n</tool_call>") -> Said:
    call = json.dumps({"name": "computer_use", "arguments": arguments})
    return QwenGrammar((1000, 1000)).parse("I see it. " + text.replace("{}", call), GridSpace(1000), SCREEN)


def test_the_grammar_of_qwen() -> None:
    said = qwen({"action": "left_click", "coordinate": [500, 500]})
    assert said.actions == [mouse(left_click=[1000, 500])] and said.thought == "I see it."
    assert qwen({"action": "key", "keys": ["ctrl", "s"]}).actions == [{"keyboard": {"keys": ["Control_L", "s"]}}]
    assert qwen({"action": "scroll", "pixels": -180}).actions == [mouse(scroll=3)], "positive is up"
    assert qwen({"action": "scroll", "pixels": 60, "coordinate": [0, 0]}).actions == [mouse(move=[0, 0], scroll=-1)]
    assert qwen({"action": "wait", "time": 3}).actions == [{"action": "wait", "time": 3.0}]
    assert qwen({"action": "terminate", "status": "success"}).finished == "answer"
    assert qwen({"action": "terminate", "status": "failure"}).finished == "failure"
    assert qwen({"action": "left_click", "coordinate": [1, 1]}, "<tool_call>{}").actions, "the end tag is left out"
    assert qwen({"action": "left_click", "coordinate": [1, 1]}, "```json\n{}\n```").actions
    assert qwen('{"action": "type", "text": "a"}').actions == [{"keyboard": {"text": "a"}}], "arguments as text"
    grammar = QwenGrammar((1000, 1000))
    call = '{"action": "%s", "coordinate": [%d, 0]}'
    grammar.parse(call % ("mouse_move", 100), GridSpace(1000), SCREEN)
    dragged = grammar.parse(call % ("left_click_drag", 200), GridSpace(1000), SCREEN)
    assert dragged.actions == [mouse(left_click_drag=[[200, 0], [400, 0]])]
    prompt = grammar.system_prompt("Be quick.")
    assert "1000x1000" in prompt and "Be quick." in prompt and "terminate" in prompt


CLICK, TYPE = {"action": "left_click", "coordinate": [500, 500]}, {"action": "type", "text": "a"}


def calls(*arguments: Any, around: str = "<tool_call>\n{}\n</tool_call>\n") -> str:
    return "So. " + "".join(
        around.replace("{}", json.dumps({"name": "computer_use", "arguments": given})) for given in arguments
    )


@pytest.mark.parametrize("around", ["<tool_call>\n{}\n</tool_call>\n", "<tool_call>{}\n"])
def test_all_calls_of_an_answer_of_qwen_are_done_in_order(around: str) -> None:
    grammar = QwenGrammar((1000, 1000))
    said = grammar.parse(calls(CLICK, TYPE, around=around), GridSpace(1000), SCREEN)
    assert said.actions == [mouse(left_click=[1000, 500]), {"keyboard": {"text": "a"}}]
    assert (said.thought, said.wording, said.finished) == ("So.", [CLICK, TYPE], None)
    end = {"action": "terminate", "status": "success"}
    said = grammar.parse(calls(TYPE, end, around=around), GridSpace(1000), SCREEN)
    assert (said.actions, said.finished) == ([{"keyboard": {"text": "a"}}], "answer")
    within_one = "<tool_call>\n" + calls(CLICK, TYPE, around="{}\n").removeprefix("So. ") + "</tool_call>"
    assert len(grammar.parse(within_one, GridSpace(1000), SCREEN).actions) == 2


def test_one_wrong_call_of_qwen_makes_the_whole_answer_one() -> None:
    grammar = QwenGrammar((1000, 1000))
    end, fly, drag = {"action": "terminate"}, {"action": "fly"}, {"action": "left_click_drag", "coordinate": [1, 1]}
    bad = [
        calls(CLICK, fly),
        calls(end, TYPE),
        calls(*[TYPE] * 21),
        f"<tool_call>{json.dumps(TYPE)} {{oops</tool_call>",
    ]
    for text in bad:
        with pytest.raises(ActionError):
            grammar.parse(text, GridSpace(1000), SCREEN)
    with pytest.raises(ActionError, match="where the pointer is"):  # the click was not done
        grammar.parse(calls(drag), GridSpace(1000), SCREEN)


def test_qwen_2_5_answers_in_the_pixels_of_its_picture() -> None:
    text = '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [500, 250]}}'
    assert QwenGrammar((1000, 500)).parse(text, HALF, SCREEN).actions == [mouse(left_click=[1000, 501])]


@pytest.mark.parametrize(
    "arguments",
    [
        {}, {"action": 5}, {"action": "fly"}, {"action": "left_click", "coordinate": [1001, 0]}, [],
        {"action": "left_click", "coordinate": "500,500"}, {"action": "key", "keys": []}, {"action": "key", "keys": "??"},
        {"action": "scroll", "pixels": "up"}, {"action": "wait", "time": True}, {"action": "left_click_drag", "coordinate": [1, 1]},
        {"action": "type"},
    ],
)  # fmt: skip
def test_what_qwen_cannot_mean_is_refused(arguments: Any) -> None:
    with pytest.raises(ValueError):
        qwen(arguments)


def tars(action: str, thought: str = "Thought: I want it.\n") -> Said:
    return UITarsGrammar().parse(f"{thought}Action: {action}", HALF, SCREEN)


@pytest.mark.parametrize(
    ("action", "actions"),
    [
        ("click(start_box='<|box_start|>(500,250)<|box_end|>')", [mouse(left_click=[1000, 501])]),
        ("click(start_box='(500,250)')", [mouse(left_click=[1000, 501])]),
        ('click(point="<point>500 250</point>")', [mouse(left_click=[1000, 501])]),
        ("left_double(start_box='[490, 240, 510, 260]')", [mouse(double_click=[1000, 501])]),
        ("right_single( start_box = '(0,0)' )", [mouse(right_click=[1, 1])]),
        ("drag(start_box='(0,0)', end_box='(10,10)')", [mouse(left_click_drag=[[1, 1], [21, 21]])]),
        ("hotkey(key='ctrl c')", [{"keyboard": {"keys": ["Control_L", "c"]}}]),
        ("hotkey(key='pagedown')", [{"keyboard": {"keys": ["Page_Down"]}}]),
        (r"type(content='it\'s \"so\"\n')", [{"keyboard": {"text": 'it\'s "so"\n'}}]),
        ("type(content='it's')", [{"keyboard": {"text": "it's"}}]),
        ("type(content='a, b=1)')", [{"keyboard": {"text": "a, b=1)"}}]),
        (r"type(content='C:\\dir')", [{"keyboard": {"text": "C:\\dir"}}]),
        ("scroll(start_box='(0,0)', direction='up')", [mouse(move=[1, 1], scroll=-5)]),
        ("wait()", [{"action": "wait", "time": 5.0}]),
        ("click(start_box='(0,0)')\n\ntype(content='x')", [mouse(left_click=[1, 1]), {"keyboard": {"text": "x"}}]),
    ],
)
def test_the_grammar_of_ui_tars(action: str, actions: list[Any]) -> None:
    said = tars(action)
    assert said.actions == actions and said.thought == "I want it." and said.finished is None


def test_ui_tars_stops() -> None:
    assert tars("finished(content='42')").finished == "answer" and "42" in tars("finished(content='42')").thought
    assert tars("finished()").finished == "answer" and tars("call_user()").finished == "call_user"
    both = tars("click(start_box='(0,0)')\nfinished()")
    assert both.actions and both.finished == "answer"


@pytest.mark.parametrize(
    "action",
    [
        "", "I click it.", "click", "click(", "click()", "click(start_box='(1)')", "click(start_box='(1,2,3)')",
        "click(start_box='(2000,0)')", "click(start_box=(1,2))", "click(start_box='(1,2)'", "fly(start_box='(1,2)')",
        "hotkey(key='')", "hotkey(key='ctrl nonsense')", "scroll(start_box='(1,1)')", "type(content='x', content='y')",
        "__import__('os').system('true')", "type(content=open('/etc/passwd').read())",
        "click(start_box='(0,0)') and then fly(x='1')",
    ],
)  # fmt: skip
def test_what_ui_tars_cannot_mean_is_refused_and_never_evaluated(action: str) -> None:
    with pytest.raises(ActionError):
        tars(action)


@given(st.text(max_size=300) | st.text(alphabet="click(start_box='1,2)\\\" =Action:\n", max_size=200))
def test_any_text_is_actions_or_a_refusal(text: str) -> None:
    for grammar, space in (
        (UITarsGrammar(), HALF), (QwenGrammar((1000, 1000)), GridSpace(1000)), (PlainJsonGrammar((1000, 1000)), GridSpace(1000)),
    ):  # fmt: skip
        try:
            said = grammar.parse(text, space, SCREEN)
            parse_actions(said.actions, screen=SCREEN)
        except ValueError:
            continue


@given(st.text(max_size=100))
def test_typed_text_survives_the_ui_tars_quotes(content: str) -> None:
    written = content.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"').replace("\n", "\\n")
    (call,) = scan_calls(f"type(content='{written}')")
    assert call.arguments["content"] == content


def plain(answer: Any) -> Said:
    return PlainJsonGrammar((1000, 1000)).parse(json.dumps(answer), GridSpace(1000), SCREEN)


def test_the_plain_grammar_is_the_contracts_own() -> None:
    said = plain(
        {"thought": "so", "actions": [mouse(left_click=[500, 500]), {"keyboard": {"text": "a"}}], "done": False}
    )
    assert said.actions == [mouse(left_click=[1000, 500]), {"keyboard": {"text": "a"}}] and said.thought == "so"
    assert plain({"actions": [], "done": True}).finished == "answer"
    for answer in (
        [], {"actions": []}, {"actions": "x", "done": False}, {"actions": [mouse(left_click=[2000, 0])]}, {"done": "yes"},
        {"actions": [{"api_call": "rm"}]}, {"actions": [5]}, {"actions": [{"action": "wait"}] * 21},
    ):  # fmt: skip
        with pytest.raises(ActionError):
            plain(answer)


def test_only_the_newest_pictures_are_kept() -> None:
    talk = [Message("user", ("task", Picture(b"0")))]
    for i in range(1, 5):
        talk += [Message("assistant", (f"do {i}",)), Message("user", (Picture(b"%d" % i),))]
    kept = shortened(talk, pictures=2, most=400)
    assert [p.data for m in kept for p in m.parts if isinstance(p, Picture)] == [b"3", b"4"]
    assert len(kept) == len(talk) and kept[0].parts[0] == "task"
    short = shortened(talk, pictures=2, most=5)
    assert short[0].parts[0] == "task" and len(short) <= 5
    assert [m.role for m in short] == ["user", "assistant", "user", "assistant", "user"][: len(short)]


def test_only_the_newest_pictures_of_tool_results_are_kept() -> None:
    image = {"type": "image", "source": {}}
    talk = [
        {"role": "user", "content": [{"type": "text", "text": "task"}, dict(image)]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [dict(image)]}]},
    ]
    forget_old_pictures(talk, 1)
    assert talk[0]["content"][1]["type"] == "text" and talk[2]["content"][0]["content"][0]["type"] == "image"
