"""``query_vlm``: a verifier's question about screenshots, answered by the configured vision model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gym_anything.errors import ModelError, VerifierError
from gym_anything.models.asking import ask
from gym_anything.models.calls import CallLimits
from gym_anything.models.json_answers import find_json
from gym_anything.models.messages import Message, Picture, Sampling
from gym_anything.models.pictures import picture_of_file
from gym_anything.verification.spending import Spending
from gym_anything.verification.vlm.setting_names import MAX_IMAGE_SIDE
from gym_anything.verification.vlm.settings import VlmSettings

DEFAULT_MAX_TOKENS = 2048
_OPTIONS = ("max_tokens", "temperature", "top_p", "system")
_YES = re.compile(r"\b(yes|true)\b", re.IGNORECASE)
_NO = re.compile(r"\b(no|false)\b", re.IGNORECASE)


def query_model(
    arguments: Mapping[str, Any], settings: VlmSettings, limits: CallLimits, spending: Spending
) -> dict[str, Any]:
    """Answer one question.

    Args:
        arguments: ``{"prompt": text, "images": [host paths], "options": {max_tokens, temperature, top_p, system}}``.
        spending: the verdict's account: checked against its budget, and this call is added.
    Returns: ``{"success", "response", "parsed", "error", "error_code", "usage", "model"}``. ``parsed`` is the JSON in
        the answer (a list under ``items``, a plain yes or no under ``answer``), or empty. ``success`` is False when the
        model could not be asked; the caller must not take that for a fail of the agent.
    Raises: VlmNotConfigured, MissingExtra, SettingInvalid, VerifierError (a wrong argument), ModelBudgetSpent, Aborted.
    """
    endpoint = settings.endpoint()
    spending.check(settings.budget(), endpoint)
    prompt, sampling, system = _asked(arguments)
    pictures = load_pictures(arguments.get("images") or (), settings)
    message = Message("user", (*pictures, prompt))
    try:
        reply = ask(endpoint, [message], system=system, sampling=sampling, limits=limits)
    except ModelError as error:
        return {
            "success": False, "response": "", "parsed": {}, "error": str(error), "error_code": error.code,
            "usage": None, "model": endpoint.model, "wire": error.to_wire(),
        }  # fmt: skip
    spending.add(endpoint.model, reply.usage)
    return {
        "success": True,
        "response": reply.text,
        "parsed": parsed_answer(reply.text),
        "error": "",
        "error_code": "",
        "usage": reply.usage.as_dict(),
        "model": endpoint.model,
    }


def load_pictures(paths: Sequence[str], settings: VlmSettings) -> list[Picture]:
    """Return image files, scaled down for the model. Raises: VerifierError for one that cannot be read."""
    pictures = []
    for path in paths:
        try:
            pictures.append(picture_of_file(Path(path), longest_side=settings.value(MAX_IMAGE_SIDE)))
        except (OSError, SyntaxError, ValueError) as error:  # Pillow raises SyntaxError for a broken PNG
            raise VerifierError(f"query_vlm: {path} is not a picture: {error}", detail={"path": str(path)}) from error
    return pictures


def parsed_answer(text: str) -> dict[str, Any]:
    """Return the data in an answer: its JSON object, a list as ``items``, a plain yes or no as ``answer``."""
    try:
        found = find_json(text)
    except ValueError:
        yes, no = bool(_YES.search(text)), bool(_NO.search(text))
        return {"answer": yes} if yes != no else {}
    return found if isinstance(found, dict) else {"items": found}


def _asked(arguments: Mapping[str, Any]) -> tuple[str, Sampling, str]:
    options = dict(arguments.get("options") or {})
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise VerifierError(f"query_vlm has no option {unknown[0]!r}; it has {', '.join(_OPTIONS)}")
    for name in ("max_tokens", "temperature", "top_p"):
        value = options.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value < 0):
            raise VerifierError(f"query_vlm: {name} must be a number of 0 or more, it is {value!r:.60}")
    longest = int(options.get("max_tokens") or DEFAULT_MAX_TOKENS)
    sampling = Sampling(longest, options.get("temperature"), options.get("top_p"))
    return str(arguments.get("prompt") or ""), sampling, str(options.get("system") or "")
