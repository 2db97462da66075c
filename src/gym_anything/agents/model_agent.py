"""What agents that ask a model have in common: settings, calls, budgets, accounts, malformed answers, what is kept.

A subclass says how it speaks (``decide``) and maps what its model answers to actions. Rules that hold for all of them:

* *Malformed answers.* Nothing of one is done. The model is told what was wrong and asked again in the same step; after
  ``max_malformed`` of them in a row the agent stops (``stopped_by: "malformed"``); the verifier judges what there is.
* *Budgets.* ``max_calls``, ``max_total_tokens``, ``max_cost_usd``: at the bound the agent stops (``"budget"``).
* *A model that is not there* is tried again (``attempts``, ``timeout_sec`` each), then the episode is broken and the
  host is to blame.
* *What is kept.* Each turn's metadata has the model's thought, its own words for the action, and what the call took;
  ``agent_usage.json`` in ``save_path`` has the sums. Never a key, a system prompt, or a picture.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from gym_anything._util.atomic_write import write_bytes
from gym_anything._util.deadline import Deadline
from gym_anything._util.secrets import Redactor
from gym_anything.agents.arguments import Arguments
from gym_anything.agents.base import BaseAgent
from gym_anything.agents.screenshots import screen_image
from gym_anything.errors import AgentError, ModelBudgetSpent, SettingInvalid
from gym_anything.models.asking import require_sdk
from gym_anything.models.calls import CallLimits
from gym_anything.models.endpoint import Endpoint, Prices, WireProtocol, key_for
from gym_anything.models.sdk_variables import address_of
from gym_anything.models.usage import Budget, Usage

USAGE_FILE = "agent_usage.json"
_LONGEST_THOUGHT = 4000


@dataclass(frozen=True, slots=True)
class Decision:
    """What a model wants.

    Attributes:
        turns: as ``BaseAgent.step`` returns them, metadata left out.
        thought: what it said beside.
        wording: the action in the model's own words, for the trajectory.
        finished: why it stops, or None.
        usage: what the answer took.
    """

    turns: list[dict[str, Any]]
    thought: str = ""
    wording: Any = None
    finished: str | None = None
    usage: Usage = field(default_factory=Usage)


class MalformedAnswer(ValueError):
    """What the model said is no action; the text is fit to be told to it."""


class ModelAgent(BaseAgent):
    """Base of agents that ask a model at each step."""

    name: ClassVar[str] = "model"
    protocol: ClassVar[WireProtocol] = "openai"
    default_history: ClassVar[int] = 3

    def __init__(
        self, agent_args: Mapping[str, Any] | None = None, verbose: bool = False, debug: bool = False, **more: Any
    ) -> None:
        """Read the settings; everything that is wrong with them is said here, before a world starts."""
        super().__init__(agent_args, verbose, debug, **more)
        arguments = Arguments(self.agent_args, self.name)
        make_endpoint = _endpoint(arguments, self.speaks(arguments), self.name)
        self.budget = Budget(
            arguments.count("max_calls"), arguments.count("max_total_tokens"), arguments.number("max_cost_usd")
        )
        self.max_tokens = arguments.count("max_tokens", 4096) or 1
        self.temperature = arguments.number("temperature")
        self.history = arguments.count("history", self.default_history) or 1
        self.max_malformed = arguments.count("max_malformed", 3) or 1
        self.extra_instructions = arguments.text("instructions", "") or ""
        self.read_arguments(arguments)
        arguments.refuse_unknown()
        self.endpoint = make_endpoint()
        self.redactor = Redactor(self.endpoint.secrets)
        self.usage = Usage(cost_usd=0.0 if self.endpoint.prices is not None else None)
        self.malformed = 0
        self.malformed_in_a_row = 0
        self.stopped_by: str | None = None

    # --- for subclasses -------------------------------------------------------------------------------------------

    def speaks(self, arguments: Arguments) -> WireProtocol:
        """Return the protocol."""
        return self.protocol

    def read_arguments(self, arguments: Arguments) -> None:
        """Read settings of one's own."""

    def look(self, image: Any, outputs: Sequence[Mapping[str, Any]]) -> None:
        """Take in the newest screen (PIL) and what became of the last turns."""
        raise NotImplementedError

    def decide(self) -> Decision:
        """Ask the model once. Raises: MalformedAnswer (told by ``complain``), ModelError kinds."""
        raise NotImplementedError

    def complain(self, what: str) -> None:
        """Tell the model at its next turn what was wrong with its answer."""
        raise NotImplementedError

    # --- the contract ---------------------------------------------------------------------------------------------

    def init(self, task_description: str, display_resolution: tuple[int, int], save_path: str) -> None:
        """See ``BaseAgent``. Raises: AgentError for a world without a screen."""
        super().init(task_description, display_resolution, save_path)
        if 0 in display_resolution:
            raise AgentError(f"the agent {self.name} looks at screenshots, and this world has no screen")

    def step(self, obs: Mapping[str, Any], action_outputs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """See ``BaseAgent``."""
        self.look(screen_image(obs), action_outputs)
        try:
            return self._decided()
        finally:
            self._keep_accounts()  # at each step: an episode that breaks has cost something, too

    def _decided(self) -> list[dict[str, Any]]:
        """Ask until the answer makes sense, the budget is spent or the patience is at its end."""
        while True:
            try:
                self.budget.check(self.usage)
            except ModelBudgetSpent as error:
                return self._stop("budget", str(error))
            try:
                decision = self.decide()
            except MalformedAnswer as error:
                self.malformed += 1
                self.malformed_in_a_row += 1
                self.tell(f"malformed answer: {error}")
                if self.malformed_in_a_row >= self.max_malformed:
                    return self._stop("malformed", str(error))
                self.complain(str(error))
                continue
            self.malformed_in_a_row = 0
            return self._turns_of(decision)

    def finish(self, *args: Any, **kwargs: Any) -> None:
        """Keep the accounts."""
        if hasattr(self, "save_path"):
            self._keep_accounts()

    def accounts(self) -> dict[str, Any]:
        """Return what the episode took."""
        return {
            "agent": self.name,
            "model": self.endpoint.model,
            **self.usage.as_dict(),
            "malformed_answers": self.malformed,
            "stopped_by": self.stopped_by,
        }

    # --- tools ----------------------------------------------------------------------------------------------------

    @staticmethod
    def limits() -> CallLimits:
        """Return what ends a call: the endpoint's own time-outs; the episode's limit ends the agent from outside."""
        return CallLimits(Deadline.never())

    def tell(self, text: str) -> None:
        """Say something when verbose, without secrets."""
        if self.verbose:
            print(f"[{self.name}] {self.redactor.text(text)}", flush=True)

    def _keep_accounts(self) -> None:
        text = json.dumps(self.redactor.json(self.accounts()), ensure_ascii=False, indent=2)
        write_bytes(Path(self.save_path) / USAGE_FILE, (text + "\n").encode("utf-8", "replace"))

    def _turns_of(self, decision: Decision) -> list[dict[str, Any]]:
        thought = decision.thought.strip()[:_LONGEST_THOUGHT]
        metadata = {
            "thought": thought,
            "model_action": decision.wording,
            "usage": decision.usage.as_dict(),
            "usage_total": self.usage.as_dict(),
            "model": self.endpoint.model,
        }
        if decision.finished is not None:
            self.done, self.stopped_by = True, decision.finished
            metadata["stopped_by"] = decision.finished
        self.tell(f"{thought} -> {decision.wording}")
        turns = decision.turns or [{"tool_id": "nothing", "actions": []}]
        return [{**turns[0], "metadata": self.redactor.json(metadata)}, *turns[1:]]

    def _stop(self, why: str, story: str) -> list[dict[str, Any]]:
        self.done, self.stopped_by = True, why
        metadata = {"stopped_by": why, "story": story, "usage_total": self.usage.as_dict()}
        return [{"tool_id": why, "actions": [], "metadata": self.redactor.json(metadata)}]


def _endpoint(arguments: Arguments, protocol: WireProtocol, agent: str) -> Callable[[], Endpoint]:
    """Read an endpoint's settings; what is returned builds it, once it is known that no name was misspelt."""
    model, base_url = arguments.text("model"), arguments.text("base_url")
    named, given = arguments.text("api_key_env"), arguments.text("api_key", secret=True)
    timeout_s, attempts = arguments.number("timeout_sec", 120.0, low=0.001), arguments.count("attempts", 4)
    prices = _prices(arguments)

    def make() -> Endpoint:
        require_sdk(protocol)
        if not model:
            raise SettingInvalid(
                f"the agent {agent} needs a model: --model NAME", detail={"setting": "model", "fix": "--model NAME"}
            )
        key = key_for(protocol, base_url, given or (os.environ.get(named) if named else None))
        if key is None or (named and not given and not os.environ.get(named)):
            raise _no_key(agent, named or f"{protocol.upper()}_API_KEY")
        assert timeout_s is not None and attempts is not None
        endpoint = Endpoint(protocol, model, base_url, key, timeout_s, attempts, prices)
        address_of(endpoint)
        return endpoint

    return make


def _no_key(agent: str, variable: str) -> SettingInvalid:
    return SettingInvalid(
        f"the agent {agent} has no key: {variable} is not set (--agent-arg api_key_env=NAME names another variable)",
        detail={"setting": "api_key", "fix": f"export {variable}=…"},
    )


def _prices(arguments: Arguments) -> Prices | None:
    given, made = arguments.number("price_input"), arguments.number("price_output")
    cached = arguments.number("price_cached_input")
    if given is None and made is None and cached is None:
        return None
    if given is None or made is None:
        raise SettingInvalid(
            "agent arguments price_input and price_output (US dollars for a million tokens) belong together",
            detail={"setting": "price_output" if made is None else "price_input"},
        )
    return Prices(given, made, cached)
