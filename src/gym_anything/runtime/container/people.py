"""The accounts of a world in a container: put into the account files that its image brings."""

from __future__ import annotations

import shlex

from gym_anything._util.deadline import Deadline
from gym_anything.errors import GuestFileNotFound, WorldStartFailed
from gym_anything.runtime.container.inside import HOME_OF_OURS
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.session import environment
from gym_anything.runtime.session.account_texts import PATHS, AccountTexts, accounts_in, with_accounts
from gym_anything.runtime.session.accounts import AccountFiles
from gym_anything.specs.env_spec import EnvSpec

LOGS = "/var/log/gym-anything"
"""Where the programs of the session and the entry point say what they have to say."""
_OWN_FOLDERS = ("Desktop", "Documents", "Downloads", ".config")
_SECRET_MODE = 0o640


def settle_accounts(channel: GuestChannel, spec: EnvSpec, deadline: Deadline) -> AccountFiles:
    """Make the spec's accounts, their homes and their way to root; the desktop's user is always there."""
    present = AccountTexts(**{name: _read(channel, path, deadline) for name, path in PATHS.items()})
    people = accounts_in(present, spec.user_accounts)
    wanted = with_accounts(present, people)
    shadow_group = str(present.groups().get("shadow", 0))
    for name, path in PATHS.items():
        text = getattr(wanted, name)
        if text != getattr(present, name):
            secret = name.endswith("shadow")
            mode, owner = (_SECRET_MODE, f"0:{shadow_group}") if secret else (0o644, "root")
            channel.put_file(text.encode(), path, deadline=deadline, mode=mode, owner=owner)
    profile = "\n".join(environment.profile_lines(people)) + "\n"
    channel.put_file(profile.encode(), "/etc/profile.d/gym-anything.sh", deadline=deadline)
    done = channel.exec(["/bin/sh", "-c", preparation(people)], deadline=deadline)
    if not done.ok:
        said = (done.stderr or done.stdout)[-1000:].decode(errors="replace")
        raise WorldStartFailed(f"the accounts of the world could not be made: {said}", detail={"log_tail": said})
    return people


def preparation(people: AccountFiles) -> str:
    """Return the shell script (for root, in the world) that makes homes, folders and the way to root. Pure."""
    desktop = people.desktop
    lines = ["set -e"]
    for account in people.accounts:
        if account.make_home:
            home, owner = shlex.quote(account.home), f"{account.uid}:{account.gid}"
            lines.append(
                f"if [ ! -d {home} ]; then mkdir -p {home}; [ ! -d /etc/skel ] || cp -R /etc/skel/. {home}/; "
                f"chown -R {owner} {home}; chmod {account.home_mode:o} {home}; fi"
            )
    for name in _OWN_FOLDERS:
        folder = shlex.quote(f"{desktop.home}/{name}")
        lines.append(f"[ -d {folder} ] || {{ mkdir -p {folder}; chown {desktop.uid}:{desktop.gid} {folder}; }}")
    runtime = environment.runtime_folder(desktop)
    lines.append(f"rm -rf {runtime}")  # sockets of an earlier life of this file system
    lines.append(f"mkdir -p {runtime} {LOGS} /workspace /usr/local/bin; chmod 700 {runtime}")
    lines.append(f"chown {desktop.uid}:{desktop.gid} {runtime}; rm -f /tmp/.X*-lock")
    rules = "".join(f"{account.name} ALL=(ALL:ALL) NOPASSWD: ALL\n" for account in people.accounts if account.may_sudo)
    lines.append(
        "if [ -x /usr/bin/sudo ] && ! grep -q '^NoNewPrivs:.1' /proc/self/status; then "
        f"mkdir -p /etc/sudoers.d; umask 337; printf %s {shlex.quote(rules)} > /etc/sudoers.d/gym-anything; "
        f"else ln -sf {HOME_OF_OURS}/ga-guest /usr/local/bin/sudo; fi"
    )
    return "\n".join(lines)


def _read(channel: GuestChannel, path: str, deadline: Deadline) -> str:
    try:
        return channel.get_file(path, deadline=deadline).decode(errors="replace")
    except GuestFileNotFound:
        return ""
