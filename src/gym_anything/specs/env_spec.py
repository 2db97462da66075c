"""What an environment is: the model of ``env.yaml``, ``env.yml`` and ``env.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from gym_anything.specs.access import Adb, Ssh, Vnc
from gym_anything.specs.accounts import UserAccount
from gym_anything.specs.apptainer import Apptainer
from gym_anything.specs.env_objects import Avd, EnvHooks, Mount, MultiAgent, Resources
from gym_anything.specs.fields import Flag, Name, NotNegative, Text, TextOrNumber, TextOrTexts, Texts
from gym_anything.specs.merging import mark_resolved, resolved_env_data
from gym_anything.specs.modality import ActionItem, ObservationItem
from gym_anything.specs.recording import Recording
from gym_anything.specs.security import Security
from gym_anything.specs.spec_model import TopLevelSpec
from gym_anything.specs.validation import validated

OsType = Literal["linux", "windows", "android", "macos"]
CacheLevel = Literal["pre_start", "post_start", "post_task"]
OS_TYPES: tuple[OsType, ...] = ("linux", "windows", "android", "macos")
CACHE_LEVELS: tuple[CacheLevel, ...] = ("pre_start", "post_start", "post_task")


class EnvSpec(TopLevelSpec):
    """An environment, after its preset was merged in.

    Frozen data; nothing here starts anything. Build one with ``from_dict`` (plain data, preset merged) or through
    ``specs.loading.load_env`` (a folder). The class itself, called with keywords, validates and merges no preset.
    """

    id: Name
    """Identity of the environment, often ``name@version``. Required: results and checkpoints carry it."""
    version: TextOrNumber = "1.0"
    """Version of the content."""
    description: Text = ""
    """What the environment is, for people."""
    licence: Text | None = None
    """Licence of the software inside."""
    upstream_url: Text | None = None
    """Home page of the software inside."""
    category: TextOrTexts = ""
    """One category or a list of them, for reports."""
    authors: Texts = ()
    """Who wrote the environment."""
    tags: Texts = ()
    """Free words for searching."""

    base: Name | None = None
    """Preset that lies under this file: objects merge, observations and actions merge by type. None: nothing."""
    image: Name | None = None
    """Container or machine image that the runner starts from. None."""
    dockerfile: Name | None = None
    """Dockerfile that the image is built from. None."""
    entrypoint: TextOrTexts | None = None
    """Command of the world's main process. None: the image's own."""
    apptainer: Apptainer | None = None
    """Options of Apptainer worlds. None: the runner's defaults."""
    resources: Resources = Field(default_factory=Resources)
    """What the world may use."""
    mounts: tuple[Mount, ...] = ()
    """Folders of the host that appear in the guest."""
    apks: Texts = ()
    """Android packages to install; paths are searched like mount sources."""
    user_accounts: tuple[UserAccount, ...] = ()
    """Accounts of the guest. Empty: the guest's conventional user."""

    observation: tuple[ObservationItem, ...] = Field(min_length=1)
    """What an agent can see. Required (own or from the preset)."""
    action: tuple[ActionItem, ...] = Field(min_length=1)
    """What an agent can do. Required (own or from the preset)."""
    synchronous: Flag = True
    """The world waits one step cycle after every step."""
    step_cycle_ms: NotNegative = 100
    """Length of that cycle in milliseconds."""

    reset_script: Text | None = None
    """Command line that runs in every reset; ``hooks.reset`` is the same. None."""
    deterministic: Flag = False
    """The same seed and actions give the same episode. False: real software rarely promises that."""
    supports_save_restore: Flag = False
    """The author tried saving and loading state in the middle of an episode. False."""
    save_paths: Texts = ()
    """Guest folders that hold all state worth saving. Empty: the whole world."""
    default_cache_level: CacheLevel = "post_start"
    """What ``cache_level="default"`` means. ``post_start``: everything but the task is ready."""
    default_use_savevm: Flag = False
    """What ``use_savevm`` is when the level is ``"default"``. False: a disk checkpoint."""

    security: Security = Field(default_factory=Security)
    """How tightly the world is held."""
    recording: Recording = Field(default_factory=Recording)
    """What is kept of an episode."""
    vnc: Vnc = Field(default_factory=Vnc)
    """VNC for people. Off unless asked for."""
    ssh: Ssh | None = None
    """How the runner logs in. None: the runner's own way."""
    adb: Adb | None = None
    """How the runner reaches an Android guest. None: the runner's own way."""
    avd: Avd | None = None
    """The Android virtual device. None: the runner's own choice."""
    diagnostics: Flag = False
    """Collect logs of the guest into the episode folder. False: they are large."""

    os_type: OsType = "linux"
    """Operating system of the guest; decides shell, paths and hooks."""
    runner: Name | None = None
    """Runner key or locator ``pkg.mod:Class``. None: detected."""
    runner_options: dict[str, Any] = Field(default_factory=dict)
    """Options of the runner, opaque to everybody else; its class checks them."""
    display_backend: Name | None = None
    """How the screen is read, where the runner has several ways. None: its default."""
    input_backend: Name | None = None
    """How input is sent, where the runner has several ways. None: its default."""
    audio_backend: Name | None = None
    """How sound is read, where the runner has several ways. None: its default."""
    skip_display_audio_bootstrap: Flag = False
    """The image brings its own display and sound; the runner sets up neither. False."""

    hooks: EnvHooks = Field(default_factory=EnvHooks)
    """Set-up commands."""
    multi_agent: MultiAgent | None = None
    """Several agents in one world. None: one agent."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, origin: str = "the environment spec") -> EnvSpec:
        """Check plain data and return the spec; a preset named by ``base`` is merged under it.

        Args:
            data: as in a file. What ``to_dict`` returned is recognised and not merged again.
            origin: words for the error: where the data came from.
        Raises: SpecInvalid (``detail``: file, key, fix); SpecNotFound for an unknown preset.
        """
        return validated(cls, resolved_env_data(data, origin=origin), origin=origin)

    def to_dict(self, *, defaults: bool = False) -> dict[str, Any]:
        """Return plain JSON data; see ``TopLevelSpec.to_dict``. Says that the preset is merged in already."""
        return mark_resolved(super().to_dict(defaults=defaults))

    def with_overrides(self, overrides: Mapping[str, Any]) -> EnvSpec:
        """Return the spec with a caller's overrides: shallow, but ``resources``, ``security``, ``recording`` and
        ``apptainer`` merge one level.

        Raises: SpecInvalid, also for an override that changes ``id`` or ``version``.
        """
        origin = "the overrides"
        return validated(EnvSpec, resolved_env_data(self.to_dict(), overrides, origin=origin), origin=origin)

    @property
    def screen_size(self) -> tuple[int, int] | None:
        """Return ``(width, height)`` in pixels of the first screen that states it, or None: the runner decides."""
        sizes = (item.resolution for item in self.observation if item.type == "rgb_screen")
        return next((size for size in sizes if size is not None), None)

    def observation_of(self, kind: str) -> ObservationItem | None:
        """Return the first observation of that type, or None."""
        return next((item for item in self.observation if item.type == kind), None)

    def action_of(self, kind: str) -> ActionItem | None:
        """Return the first action of that type, or None."""
        return next((item for item in self.action if item.type == kind), None)
