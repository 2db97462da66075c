"""A desktop of somebody else's making, as far as anybody can tell: only the runner contract is passed on."""

from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.runtime.runners.registry import resolve_runner


class BorrowedDesktop(BaseRunner):
    """Lends out a local world: a screen, input, commands and files, and nothing that is not in the contract."""

    def __init__(self, spec):
        super().__init__(spec)
        self._lent = resolve_runner("local")(spec)

    def start(self, seed=None):
        self._lent.on_episode_start(self.episode_context)
        self._lent.start(seed)

    def stop(self):
        self._lent.stop()

    def abort(self):
        super().abort()
        self._lent.abort()

    def run_reset(self, script, seed=None):
        self._lent.run_reset(script, seed)

    def run_task_init(self, script):
        self._lent.run_task_init(script)

    def inject_action(self, action):
        return self._lent.inject_action(action)

    def capture_observation(self):
        return {}

    def capture_screenshot_image(self):
        return self._lent.capture_screenshot_image()

    def acks_input_delivery(self):
        return True

    def supports_fast_io(self):
        return True

    def set_fast_io(self, enabled):
        self._lent.set_fast_io(enabled)

    def exec(self, cmd, env=None, user=None, use_pty=True, timeout=600):
        return self._lent.exec(cmd, env=env, user=user, use_pty=use_pty, timeout=timeout)

    def exec_async(self, cmd, env=None, stdout=None, stderr=None):
        return self._lent.exec_async(cmd, env=env, stdout=stdout, stderr=stderr)

    def exec_capture(self, cmd):
        return self._lent.exec_capture(cmd)

    def copy_to(self, host_src, container_dst):
        self._lent.copy_to(host_src, container_dst)

    def copy_from(self, container_src, host_dst):
        self._lent.copy_from(container_src, host_dst)
