"""Which vision model judges, and how: variables, the task's own words, defaults.

Precedence, the first that says something: ``GYM_ANYTHING_VLM_CHECKLIST_<NAME>`` (checklists only), the task's
``success.spec`` (checklists only), ``VLM_<NAME>``, the default. Variables come from the verifier's overrides first,
then from the process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeVar

from gym_anything._util.settings import UNSET, Source, Unset, resolve
from gym_anything.errors import SettingInvalid, SpecInvalid, VlmNotConfigured
from gym_anything.models.endpoint import Endpoint, Prices, key_for
from gym_anything.models.messages import Sampling
from gym_anything.models.usage import Budget
from gym_anything.verification.vlm import setting_names as names
from gym_anything.verification.vlm.setting_names import Setting

T = TypeVar("T")


class VlmSettings:
    """The settings in force for one verdict."""

    def __init__(self, environment: Mapping[str, str] | None = None, spec: Mapping[str, Any] | None = None) -> None:
        """Args: environment: the verifier's overrides. spec: of a checklist; None: a verifier's own ``query_vlm``."""
        self._environ = {**os.environ, **(environment or {})}
        self._spec = spec
        if spec is not None:
            _check_keys(spec)

    def value(self, setting: Setting[T]) -> T | None:
        """Return a setting's value. Raises: SettingInvalid, SpecInvalid."""
        return self._resolved(setting)[0]

    def source(self, setting: Setting[Any]) -> Source:
        """Return where the value came from; ``preset`` stands for the general variable."""
        return self._resolved(setting)[1]

    def endpoint(self) -> Endpoint:
        """Return the model to ask. Raises: VlmNotConfigured, SettingInvalid, SpecInvalid."""
        model, backend = self.value(names.MODEL), self.value(names.BACKEND)
        if not model:
            raise VlmNotConfigured(
                "a vision model is to judge, and none is configured: set VLM_MODEL, and VLM_BACKEND (local, openai or "
                "anthropic) or VLM_BASE_URL",
                detail={"feature": "query_vlm", "fix": "export VLM_MODEL=… VLM_BASE_URL=…"},
            )
        asked = names.Backend(backend or names.Backend.LOCAL)
        base_url = self.value(names.BASE_URL) or (names.LOCAL_URL if asked is names.Backend.LOCAL else None)
        key = key_for(asked.protocol, base_url, self._key(), self._environ)
        if key is None:
            raise VlmNotConfigured(
                f"the backend {asked} needs a key: set VLM_API_KEY or the provider's own variable",
                detail={"feature": "query_vlm", "fix": "export VLM_API_KEY=…"},
            )
        attempts, timeout_s = self.value(names.MAX_RETRIES), self.value(names.TIMEOUT)
        assert attempts is not None and timeout_s is not None
        return Endpoint(asked.protocol, model, base_url, key, timeout_s, attempts, self._prices())

    def sampling(self) -> Sampling:
        """Return how answers are drawn."""
        return Sampling(self.value(names.MAX_TOKENS) or 1, self.value(names.TEMPERATURE), self.value(names.TOP_P))

    def budget(self) -> Budget:
        """Return what one verdict may spend."""
        return Budget(calls=self.value(names.MAX_CALLS), cost_usd=self.value(names.MAX_COST_USD))

    def _key(self) -> str | None:
        """The key for the address: never one of ours for an address that a task has chosen."""
        if self.source(names.BASE_URL) == "file":
            return None
        return self.value(names.API_KEY)

    def _prices(self) -> Prices | None:
        given, made = self.value(names.PRICE_INPUT), self.value(names.PRICE_OUTPUT)
        if (given is None) != (made is None):
            raise SettingInvalid(
                "VLM_PRICE_INPUT and VLM_PRICE_OUTPUT belong together; one of them is not set",
                detail={"setting": "VLM_PRICE_OUTPUT" if made is None else "VLM_PRICE_INPUT"},
            )
        return Prices(given, made) if given is not None and made is not None else None

    def _resolved(self, setting: Setting[T]) -> tuple[T | None, Source]:
        checklist = self._spec is not None
        special = setting.special.lookup(self._environ) if checklist and setting.special is not None else UNSET
        general = setting.general.lookup(self._environ) if setting.general is not None else UNSET
        file: T | Unset | None = self._from_spec(setting)
        default: T | None = setting.default
        name = setting.key or "vlm"
        found = resolve(name, environment=special, file=file, preset=general, default=default)
        return found.value, found.source

    def _from_spec(self, setting: Setting[T]) -> T | Unset:
        value = (self._spec or {}).get(setting.key) if setting.key else None
        if value is None:
            return UNSET
        try:
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise ValueError("text or a number is needed")
            return setting.parse(str(value))
        except ValueError as error:
            raise SpecInvalid(
                f"success.spec.{setting.key}: {value!r:.80} is not usable: {error}",
                detail={"key": f"success.spec.{setting.key}"},
            ) from error


def checklist_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a checklist's settings: those in ``vlm_checklist`` (an object, or the file's name) win over the rest."""
    nested = spec.get("vlm_checklist")
    rest = {key: value for key, value in spec.items() if key not in ("vlm_checklist", "checklist_path", "program")}
    if "checklist_path" in spec:
        rest.setdefault("checklist", spec["checklist_path"])
    if isinstance(nested, str):
        return {**rest, "checklist": nested}
    return {**rest, **nested} if isinstance(nested, Mapping) else rest


def _check_keys(spec: Mapping[str, Any]) -> None:
    if "api_key" in spec:
        raise SpecInvalid(
            "success.spec.api_key: a key does not belong into a task; set VLM_API_KEY",
            detail={"key": "success.spec.api_key", "fix": "remove it and export VLM_API_KEY=…"},
        )
    known = {setting.key for setting in names.CHECKLIST_KEYS} | names.OTHER_KEYS
    unknown = sorted(set(spec) - known)
    if unknown:
        raise SpecInvalid(
            f"vlm_checklist: unknown key {unknown[0]!r} in success.spec; known: {', '.join(sorted(known))}",
            detail={"key": f"success.spec.{unknown[0]}"},
        )
