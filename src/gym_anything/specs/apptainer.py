"""How an Apptainer world is made."""

from __future__ import annotations

from pydantic import Field

from gym_anything.specs.fields import Flag, Name, TextMap, Texts
from gym_anything.specs.spec_model import SpecObject


class Apptainer(SpecObject):
    """Image and options of an Apptainer instance."""

    sif: Name | None = None
    """Path of a built image (SIF or sandbox folder). None: see the next two."""
    definition: Name | None = None
    """Definition file to build from. None."""
    image: Name | None = None
    """Image address (``docker://…``, ``library://…``). None."""
    cache_dir: Name | None = None
    """Where built images are kept. None: the runner's cache."""
    workdir: Name | None = None
    """Working folder in the guest. None: the image's own."""
    binds: Texts = ()
    """Further binds, ``source:target[:options]``."""
    overlays: Texts = ()
    """Overlay images or folders."""
    extra_start_args: Texts = ()
    """More arguments for ``instance start``."""
    extra_exec_args: Texts = ()
    """More arguments for ``exec``."""
    fakeroot: Flag = False
    """Root inside by user namespace. False."""
    contain: Flag = True
    """Do not show the host's home, /tmp and /dev. True: the host is none of the agent's business."""
    contain_all: Flag = False
    """Also separate processes, IPC and environment. False: some images break."""
    writable_tmpfs: Flag = True
    """Writes go to memory and vanish. True."""
    enable_gpu: Flag = False
    """Pass the GPU through. False."""
    env: TextMap = Field(default_factory=dict)
    """Environment variables of the instance."""
