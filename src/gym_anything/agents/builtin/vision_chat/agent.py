"""Vision models that talk: any endpoint of chat completions (or messages), one grammar each.

``vision``: any model that follows a prompt (JSON). ``qwen_vl``: Qwen-VL. ``ui_tars``: UI-TARS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gym_anything.actions.coords import CoordinateSpace, GridSpace, PictureSpace, smart_resized
from gym_anything.actions.parse import parse_actions
from gym_anything.agents.arguments import Arguments
from gym_anything.agents.builtin.vision_chat.grammar import Grammar
from gym_anything.agents.builtin.vision_chat.plain_json import PlainJsonGrammar
from gym_anything.agents.builtin.vision_chat.qwen_vl import QwenGrammar
from gym_anything.agents.builtin.vision_chat.ui_tars import UITarsGrammar
from gym_anything.agents.model_agent import Decision, MalformedAnswer, ModelAgent
from gym_anything.models.asking import ask
from gym_anything.models.endpoint import WireProtocol
from gym_anything.models.messages import Message, Part, Picture, Sampling
from gym_anything.models.pictures import fitted, scaled_picture

GRID = 1000
_LEFT_OUT = "(an older screenshot was left out)"
_NOTHING = "(nothing)"
_MOST_MESSAGES = 400


class VisionAgent(ModelAgent):
    """Any vision model that follows a prompt and answers in JSON (--model NAME --agent-arg base_url=URL).

    Agent arguments of its own: ``protocol`` (openai or anthropic), ``coordinates`` (grid: 0 to 1000; picture: pixels of
    what the model is shown), ``picture`` (WIDTHxHEIGHT shown; default: the screen up to 1568 pixels).
    """

    name: ClassVar[str] = "vision"
    coordinates: ClassVar[str] = "grid"

    def speaks(self, arguments: Arguments) -> WireProtocol:
        """See ``ModelAgent``."""
        chosen = arguments.choice("protocol", ("openai", "anthropic"), "openai")
        return "anthropic" if chosen == "anthropic" else "openai"

    def read_arguments(self, arguments: Arguments) -> None:
        """See ``ModelAgent``."""
        self.units = arguments.choice("coordinates", ("grid", "picture"), self.coordinates)
        self.picture = arguments.size("picture")

    def shown_size(self, screen: tuple[int, int]) -> tuple[int, int]:
        """Return the size of the pictures that the model is shown."""
        return fitted(screen, longest_side=1568)

    def make_grammar(self, extent: tuple[int, int]) -> Grammar:
        """Return the grammar; ``extent`` is the screen's size in the model's units."""
        return PlainJsonGrammar(extent)

    def init(self, task_description: str, display_resolution: tuple[int, int], save_path: str) -> None:
        """See ``BaseAgent``."""
        super().init(task_description, display_resolution, save_path)
        self._size = self.picture or self.shown_size(display_resolution)
        in_grid = self.units == "grid"
        self._space: CoordinateSpace = GridSpace(GRID) if in_grid else PictureSpace(*self._size)
        self._grammar = self.make_grammar((GRID, GRID) if in_grid else self._size)
        self._messages: list[Message] = []
        self._turn = 0

    def look(self, image: Any, outputs: Sequence[Mapping[str, Any]]) -> None:
        """See ``ModelAgent``."""
        shot = scaled_picture(image, self._size)
        said: list[Part] = [] if self._messages else [self._grammar.task_prompt(self.task_description)]
        refused = [str(output.get("output")) for output in outputs if output.get("action") == "error"]
        said += [f"The last action was refused and not done: {reason}" for reason in refused]
        self._messages.append(Message("user", (*said, shot)))
        self._messages = shortened(self._messages, pictures=self.history, most=_MOST_MESSAGES)

    def decide(self) -> Decision:
        """See ``ModelAgent``."""
        system = self._grammar.system_prompt(self.extra_instructions)
        sampling = Sampling(self.max_tokens, self.temperature)
        reply = ask(self.endpoint, self._messages, system=system, sampling=sampling, limits=self.limits())
        self.usage += reply.usage
        self._messages.append(Message("assistant", (reply.text or _NOTHING,)))
        try:
            said = self._grammar.parse(reply.text, self._space, self.display_resolution)
            parse_actions(said.actions, screen=self.display_resolution)
        except ValueError as error:
            cut = (
                " (the answer was cut off by the limit on its length)"
                if reply.stopped_by in ("length", "max_tokens")
                else ""
            )
            raise MalformedAnswer(f"{error}{cut}") from error
        self._turn += 1
        turns = [{"tool_id": f"turn_{self._turn}", "actions": said.actions}] if said.actions else []
        return Decision(turns, said.thought, said.wording, said.finished, reply.usage)

    def complain(self, what: str) -> None:
        """See ``ModelAgent``."""
        self._messages.append(Message("user", (f"That could not be used, and nothing of it was done: {what}",)))


class QwenVLAgent(VisionAgent):
    """A Qwen-VL model (--model NAME --agent-arg base_url=URL); Qwen2.5-VL wants coordinates=picture.

    Agent arguments of its own: as ``vision``; pictures are sized as the models size them themselves.
    """

    name: ClassVar[str] = "qwen_vl"

    def shown_size(self, screen: tuple[int, int]) -> tuple[int, int]:
        """See ``VisionAgent``."""
        return _model_sized(screen)

    def make_grammar(self, extent: tuple[int, int]) -> Grammar:
        """See ``VisionAgent``."""
        return QwenGrammar(extent)


class UITarsAgent(VisionAgent):
    """A UI-TARS model (--model NAME --agent-arg base_url=URL); those before 1.5 want coordinates=grid.

    Agent arguments of its own: as ``vision``; pictures are sized as the models size them themselves.
    """

    name: ClassVar[str] = "ui_tars"
    coordinates: ClassVar[str] = "picture"
    default_history: ClassVar[int] = 5

    def shown_size(self, screen: tuple[int, int]) -> tuple[int, int]:
        """See ``VisionAgent``."""
        return _model_sized(screen)

    def make_grammar(self, extent: tuple[int, int]) -> Grammar:
        """See ``VisionAgent``."""
        return UITarsGrammar()


def shortened(messages: list[Message], *, pictures: int, most: int) -> list[Message]:
    """Return a conversation with only its newest pictures; of a very long one the first message and the newest."""
    if len(messages) > most:
        first, rest = messages[0], messages[-(most - 1) :]
        messages = [first, *rest[next(i for i, m in enumerate(rest) if m.role == "assistant") :]]
    left = pictures
    kept: list[Message] = []
    for message in reversed(messages):
        parts: list[Part] = []
        for part in reversed(message.parts):
            if isinstance(part, Picture):
                left -= 1
                part = part if left >= 0 else _LEFT_OUT
            parts.append(part)
        kept.append(Message(message.role, tuple(reversed(parts))))
    return list(reversed(kept))


def _model_sized(screen: tuple[int, int]) -> tuple[int, int]:
    space = smart_resized(screen)
    return space.width, space.height
