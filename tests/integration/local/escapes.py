"""Ways out that must not work: a command, and what it would print if it had worked."""

from __future__ import annotations

import os
from dataclasses import dataclass

_PWNED = "GOT-OUT"
_KEYCTL = {"x86_64": 250, "aarch64": 219}[os.uname().machine]


@dataclass(frozen=True)
class Escape:
    """One way out; its command prints ``GOT-OUT`` when it has worked."""

    name: str
    attempt: str

    @property
    def command(self) -> str:
        """The whole command line."""
        return f"( {self.attempt} ) >/dev/null 2>&1 && echo {_PWNED} || echo held"

    def failed(self, output: str) -> bool:
        """Tell whether the attempt was held back."""
        return output.strip().splitlines()[-1:] == ["held"]


ESCAPES = (
    Escape("remount the programs writable", "mount -o remount,rw /usr && touch /usr/owned"),
    Escape("remount the programs writable by bind", "mount -o remount,rw,bind /usr && touch /usr/owned"),
    Escape("remount the settings writable", "mount -o remount,rw,bind /etc && touch /etc/owned"),
    Escape("write into the programs", "touch /usr/owned"),
    Escape("write into the settings", "touch /etc/owned || echo x >> /etc/passwd"),
    Escape("take a mount away", "umount /usr || umount -l /usr || umount /etc/fonts"),
    Escape("make a block device", "mknod /tmp/disk b 254 0"),
    Escape("make a character device", "mknod /tmp/mem c 1 1"),
    Escape("mount the host's disk", "mount -t ext4 /dev/vda /mnt || mount -t ext4 /dev/sda1 /mnt"),
    Escape("mount the host's devices", "mount -t devtmpfs d /mnt"),
    Escape("mount the kernel's objects", "mount -t sysfs s /mnt"),
    Escape(
        "raise its own limits",
        "mount -t cgroup -o memory c /mnt && echo -1 > /mnt/memory.limit_in_bytes"
        " || mount -t cgroup2 c /mnt && echo max > /mnt/memory.max",
    ),
    Escape(
        "leave its control group", "mount -t cgroup2 c /mnt && mkdir /mnt/other && echo 0 > /mnt/other/cgroup.procs"
    ),
    Escape("mount another process table", "mount -t proc p /mnt"),
    Escape("mount the debug file system", "mount -t debugfs d /mnt || mount -t tracefs t /mnt"),
    Escape("read the host's shadow file", "grep -q postgres /etc/shadow || test -r /proc/1/root/../etc/gshadow-"),
    Escape("leave by the root of init", "test -e /proc/1/root/proc/1/root/boot || test -e /proc/1/cwd/../boot"),
    Escape("change the kernel's settings", "echo 1 > /proc/sys/kernel/panic"),
    Escape("change where cores go", "echo '|/tmp/x' > /proc/sys/kernel/core_pattern"),
    Escape("change what loads modules", "echo /tmp/x > /proc/sys/kernel/modprobe"),
    Escape("use the magic key", "echo b > /proc/sysrq-trigger"),
    Escape("read the kernel's memory", "head -c 1 /proc/kcore"),
    Escape("read the kernel's log", "dmesg | grep -q . || head -c1 /proc/kmsg"),
    Escape("load a module", "modprobe dummy || insmod /lib/modules/x.ko"),
    Escape("stop the machine", "reboot -f || poweroff -f"),
    Escape("set the clock", "date -s 2001-01-01"),
    Escape("enter the namespaces of init", "nsenter -t 1 -m -u -i -n -p -U true && test -e /boot"),
    Escape("raise a limit above the launcher's", "ulimit -Hu 1000000 && ulimit -u 1000000"),
    Escape("open a raw disk", "head -c 1 /dev/vda || head -c 1 /dev/sda || head -c 1 /dev/mem"),
    Escape("run the host's own set-uid programs as root", 'su -c true </dev/null && [ "$(id -u)" != 0 ]'),
    Escape("trace a process that is not there", "strace -p 99999 || gdb -p 99999 -batch 2>&1 | grep -q attached"),
    Escape("reopen the log it writes to", "cat /proc/1/fd/1 | grep -q . || : < /proc/1/fd/2"),
    Escape("become a user of the host", "chown 65535 /tmp || chown 4000000000 /tmp"),
    Escape("swap", "swapon /tmp/x"),
    Escape("use a loop device", "truncate -s 1M /tmp/x && { losetup -f /tmp/x || mount -o loop /tmp/x /mnt; }"),
    Escape(
        "make a mount in the host's table",
        "mount --make-shared / && mount --bind /tmp /usr && touch /usr/owned2 && ! rm /tmp/owned2",
    ),
    Escape("speak with the machine's hypervisor", "python3 -c 'import socket; socket.socket(40, 1)'"),
    Escape(
        "make a socket by io_uring",
        "python3 -c 'import ctypes; assert ctypes.CDLL(None).syscall(425, 8, bytes(120)) >= 0'",
    ),
    Escape(
        "search the key rings of the host's user",
        f"python3 -c 'import ctypes; assert ctypes.CDLL(None).syscall({_KEYCTL}, 0, -3, 0) >= 0'"
        " || grep -v '_ses: empty' /proc/keys | grep -q .",
    ),
    Escape(
        "trace init, which would hold it still",
        "python3 -c 'import ctypes; assert ctypes.CDLL(None).ptrace(0x4206, 1, 0, 0) == 0'",
    ),
    Escape("read the memory of init", 'python3 -c \'open("/proc/1/mem", "rb")\''),
    Escape(
        "read the program of init, so that it can be traced",
        "head -c 4 /proc/1/exe || head -c 4 /opt/gym-anything/init/*",
    ),
    Escape("use the network", "exec 3<>/dev/tcp/192.0.2.1/80"),
)
