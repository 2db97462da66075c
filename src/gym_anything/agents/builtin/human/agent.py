"""``human``: a person plays, in the terminal that started the run, in a page on loopback, or in both at once."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gym_anything._util.state_dir import Run
from gym_anything.agents.arguments import Arguments
from gym_anything.agents.base import BaseAgent
from gym_anything.agents.builtin.human.commands import DONE, HELP, read_command
from gym_anything.agents.builtin.human.terminal import terminal_of_ancestors
from gym_anything.agents.builtin.human.view import LiveView
from gym_anything.agents.screenshots import screen_image
from gym_anything.errors import ActionError, SettingInvalid
from gym_anything.models.pictures import scaled_picture

SCREEN_FILE = "human_screen.png"
_GONE = object()


class HumanAgent(BaseAgent):
    """A person plays: in the terminal that started the run, or in a page on loopback whose address is told there.

    Agent arguments: ``mode`` (both, terminal or view), ``terminal`` (another one, such as /dev/pts/3), ``port`` (of the
    page; default any). Who looks at the world by VNC may act there and say ``done`` here.
    """

    def __init__(
        self, agent_args: Mapping[str, Any] | None = None, verbose: bool = False, debug: bool = False, **more: Any
    ) -> None:
        """Find the person. Raises: SettingInvalid when only the terminal is wanted and there is none."""
        super().__init__(agent_args, verbose, debug, **more)
        arguments = Arguments(self.agent_args, "human")
        mode = arguments.choice("mode", ("both", "terminal", "view"), "both")
        named = arguments.text("terminal")
        self._port = arguments.count("port", 0, low=0) or 0
        arguments.text("model")  # names the results; nothing else
        arguments.refuse_unknown()
        self._terminal_path = None if mode == "view" and not named else named or terminal_of_ancestors()
        self._wants_view = mode != "terminal"
        if mode == "terminal" and self._terminal_path is None:
            raise SettingInvalid(
                "the agent human found no terminal: start the run in one, or use --agent-arg mode=view",
                detail={"setting": "mode"},
            )
        self._wishes: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._view: LiveView | None = None
        self._address_file: Path | None = None
        self._terminal: int | None = None

    def init(self, task_description: str, display_resolution: tuple[int, int], save_path: str) -> None:
        """See ``BaseAgent``."""
        super().init(task_description, display_resolution, save_path)
        self._screen = display_resolution if all(display_resolution) else None
        if self._terminal_path is not None:
            self._open_terminal(self._terminal_path)
        if self._wants_view:
            self._view = LiveView(task_description, display_resolution, self._wishes, port=self._port)
            self._announce(self._view.url)

    def step(self, obs: Mapping[str, Any], action_outputs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Show the screen and wait for the person; the episode's time limit ends it, too."""
        png = scaled_picture(screen_image(obs)).data
        refused = "; ".join(str(o.get("output")) for o in action_outputs if o.get("action") == "error")
        if self._view is not None:
            self._view.show(png, refused)
        if self._terminal is not None:
            shown = Path(self.save_path) / SCREEN_FILE
            shown.write_bytes(png)
            self._say(f"refused: {refused}" if refused else f"screen: {shown}")
        wish = self._next_wish()
        if wish == DONE:
            self.done = True
            return [{"tool_id": "human", "actions": []}]
        return [{"tool_id": "human", "actions": wish}]

    def finish(self, *args: Any, **kwargs: Any) -> None:
        """Stop serving and tell the verdict."""
        if self._view is not None:
            self._view.close()
            self._view = None
        if self._address_file is not None:
            self._address_file.unlink(missing_ok=True)
        outcome = (kwargs.get("info") or {}).get("outcome") or {}
        self._say(f"verdict: {outcome.get('status', 'none')}. {outcome.get('story', '')}")

    def _next_wish(self) -> Any:
        """Wait for a wish; a terminal that went away leaves the page, and without one the person has gone."""
        while (wish := self._wishes.get()) is _GONE:
            if self._view is None:
                return DONE
        return wish

    def _open_terminal(self, path: str) -> None:
        # O_NOCTTY: reading from it must not make it ours, or Ctrl-C would come here instead of to who started us.
        fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        self._terminal = fd
        self._say(f"\nTask: {self.task_description}\n{HELP}")
        threading.Thread(target=self._read_lines, args=(fd,), name="terminal", daemon=True).start()

    def _read_lines(self, fd: int) -> None:
        """Turn what is typed into wishes until the terminal ends."""
        pending = b""
        while True:
            try:
                part = os.read(fd, 4096)
            except OSError:
                part = b""
            if not part:
                self._terminal = None
                os.close(fd)  # by who reads from it: no other thread may close it under a read
                self._wishes.put(_GONE)
                return
            *lines, pending = (pending + part).split(b"\n")
            for line in lines:
                self._take_line(line.decode("utf-8", "replace"))

    def _take_line(self, line: str) -> None:
        try:
            wish = read_command(line, self._screen)
        except ActionError as error:
            self._say(str(error))
            return
        if isinstance(wish, str) and wish != DONE:
            self._say(wish)
        else:
            self._wishes.put(wish)

    def _say(self, text: str) -> None:
        if self._terminal is not None:
            try:
                os.write(self._terminal, (text.rstrip("\n") + "\n").encode("utf-8", "replace"))
            except OSError:
                self._terminal = None  # it was closed; the page, or the end, is what is left

    def _announce(self, url: str) -> None:
        """Tell the page's address where only the person can read it: it is the key to the page."""
        if self._terminal is not None:
            self._say(f"or in a browser: {url}")
            return
        self._address_file = place = Run.current().path / "human_view.url"
        fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(fd, f"{url}\n".encode())
        finally:
            os.close(fd)
        print(f"your turn: the address to open stands in {place}", flush=True)
