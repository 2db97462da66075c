"""Recipes of systems that install themselves: pinned, whole, and honest about what is missing."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

from gym_anything.errors import MissingDependency, SpecInvalid, SpecNotFound
from gym_anything.runtime.images.install import needs
from gym_anything.runtime.images.install.command import InstallFiles, install_argv
from gym_anything.runtime.images.install.iso9660 import read_file
from gym_anything.runtime.images.install.recipe import InstallRecipe, install_recipe_names, load_install_recipe
from gym_anything.runtime.images.recipe import recipe_root
from gym_anything.runtime.qemu.accelerator import Choice
from gym_anything.specs.preset import preset_data
from tests.integration.images.boot_medium import boot_medium

pytestmark = pytest.mark.unit

NAMES = install_recipe_names()
_NS = {"u": "urn:schemas-microsoft-com:unattend"}
_STATE = "{http://schemas.microsoft.com/WMIConfig/2002/State}"


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_of_ours_is_pinned_or_says_why_not(name: str) -> None:
    recipe = load_install_recipe(name)
    for download in recipe.downloads:
        assert download.sha256 is not None or "no SHA-256" in download.publisher
        assert download.publisher
    assert recipe.run == "nowhere"
    assert recipe.digest() == load_install_recipe(name).digest()


def test_the_presets_images_have_a_recipe_with_the_name_that_they_write() -> None:
    files = {load_install_recipe(name).file for name in NAMES}
    assert {preset_data(name)["base_qcow2"] for name in ("windows-11", "android-14")} <= files
    assert "base_ubuntu_gnome.qcow2" in files
    medium = load_install_recipe("android-14").medium
    assert medium.file == preset_data("android-14")["base_iso"]


def answers() -> ET.Element:
    return ET.parse(load_install_recipe("windows-11").folder / "answers/autounattend.xml").getroot()


def component(of_pass: str, name: str) -> ET.Element:
    found = answers().find(f"u:settings[@pass='{of_pass}']/u:component[@name='{name}']", _NS)
    assert found is not None, f"{name} in pass {of_pass}"
    return found


def test_the_answers_for_windows_have_the_passes_and_components_of_a_whole_installation() -> None:
    root = answers()
    assert root.tag == f"{{{_NS['u']}}}unattend"
    assert [settings.get("pass") for settings in root] == ["windowsPE", "specialize", "oobeSystem"]
    for found in root.iter(f"{{{_NS['u']}}}component"):
        assert found.get("processorArchitecture") == "amd64"
        assert found.get("publicKeyToken") == "31bf3856ad364e35"
        assert (found.get("language"), found.get("versionScope")) == ("neutral", "nonSxS")
    for name in ("RunSynchronous", "CreatePartitions", "ModifyPartitions", "FirstLogonCommands"):
        for group in root.iter(f"{{{_NS['u']}}}{name}"):
            orders = [item.findtext("u:Order", namespaces=_NS) for item in group]
            assert orders == [str(number + 1) for number in range(len(orders))]
            assert all(item.get(f"{_STATE}action") == "add" for item in group)


def test_the_answers_for_windows_leave_no_question() -> None:
    setup = component("windowsPE", "Microsoft-Windows-Setup")
    assert setup.findtext(".//u:AcceptEula", namespaces=_NS) == "true"
    target = setup.findtext(".//u:InstallTo/u:PartitionID", namespaces=_NS)
    types = [item.findtext("u:Type", namespaces=_NS) for item in setup.iter(f"{{{_NS['u']}}}CreatePartition")]
    assert types == ["EFI", "MSR", "Primary"] and types[int(target or 0) - 1] == "Primary"
    bypassed = " ".join(item.text or "" for item in setup.iter(f"{{{_NS['u']}}}Path"))
    assert all(f"Bypass{what}Check" in bypassed for what in ("TPM", "SecureBoot", "CPU", "RAM"))
    shell = component("oobeSystem", "Microsoft-Windows-Shell-Setup")
    oobe = {item.tag.partition("}")[2]: item.text for item in shell.find("u:OOBE", _NS) or ()}
    assert oobe["HideEULAPage"] == oobe["HideOnlineAccountScreens"] == oobe["HideWirelessSetupInOOBE"] == "true"


def test_windows_has_the_account_that_its_preset_logs_in_with() -> None:
    ssh = preset_data("windows-11")["ssh"]
    shell = component("oobeSystem", "Microsoft-Windows-Shell-Setup")
    for place in ("u:UserAccounts//u:LocalAccount", "u:AutoLogon"):
        account = shell.find(place, _NS)
        assert account is not None
        name = account.findtext("u:Name", namespaces=_NS) or account.findtext("u:Username", namespaces=_NS)
        assert (name, account.findtext("u:Password/u:Value", namespaces=_NS)) == (ssh["user"], ssh["password"])
        assert account.findtext("u:Password/u:PlainText", namespaces=_NS) == "true"
    command = shell.findtext(".//u:CommandLine", namespaces=_NS) or ""
    script = load_install_recipe("windows-11").folder / "answers/gym-anything/setup.ps1"
    assert r"%d:\gym-anything\setup.ps1" in command and script.is_file()
    text = script.read_text(encoding="utf-8")
    downloads = [download.file for download in load_install_recipe("windows-11").downloads if download.use == "answers"]
    assert all(name in text for name in downloads)
    for needed in (r"C:\workspace", "OpenSSH.Server", "DefaultShell", "pyautogui", "Stop-Computer"):
        assert needed in text
    assert text.count("{") == text.count("}") and text.count("(") == text.count(")")


def test_the_answers_for_ubuntu_are_what_cloud_init_reads() -> None:
    folder = load_install_recipe("ubuntu-gnome").folder / "answers"
    text = (folder / "user-data").read_text(encoding="utf-8")
    assert text.startswith("#cloud-config\n")
    data = yaml.safe_load(text)
    (user,) = data["users"]
    assert (user["name"], user["uid"], user["plain_text_passwd"]) == ("ga", 1000, "password123")
    assert "NOPASSWD" in user["sudo"] and data["power_state"]["mode"] == "poweroff"
    assert data["packages"] == sorted(set(data["packages"]))
    assert all(isinstance(line, list) for line in data["runcmd"])
    assert yaml.safe_load((folder / "meta-data").read_text())["instance-id"]


def files(tmp_path: Path, **changes: object) -> InstallFiles:
    paths = {
        "disk": tmp_path / "a,b.qcow2",
        "cdrom": tmp_path / "m.iso",
        "answers": None,
        "firmware": None,
        "kernel": None,
    }
    names = {name: tmp_path / name for name in ("monitor", "console", "vnc")}
    return InstallFiles(**{**paths, **names, **changes})  # type: ignore[arg-type]


def test_the_command_line_has_what_the_recipe_says_and_listens_nowhere(tmp_path: Path) -> None:
    recipe = load_install_recipe("windows-11")
    pair = (tmp_path / "code.fd", tmp_path / "vars.fd")
    argv = install_argv("qemu", recipe, files(tmp_path, answers=tmp_path / "answers", firmware=pair), accelerator="kvm")
    line = " ".join(argv)
    assert "q35,accel=kvm" in line and "-cpu host" in line and "-m 8192" in line and "base=localtime" in line
    assert "if=pflash,unit=0,format=raw,readonly=on" in line and "ide-hd,drive=system,bus=ide.0,bootindex=0" in line
    assert f"file={tmp_path}/a,,b.qcow2" in line, "a comma in a path is QEMU's own"
    assert "driver=vvfat,node-name=answers" in line and "read-only=on" in line and "usb-storage,drive=answers" in line
    assert "hostfwd" not in line and f"-vnc unix:{tmp_path}/vnc" in line and "e1000,netdev=out" in line
    assert "-no-reboot" not in argv
    android = load_install_recipe("android-x86-9")
    argv = install_argv("qemu", android, files(tmp_path, kernel=pair), accelerator="tcg")
    assert "-no-reboot" in argv and argv[argv.index("-append") + 1].endswith("AUTO_INSTALL=force")
    assert "vvfat" not in " ".join(argv) and "-cpu max" in " ".join(argv)


def test_all_that_is_missing_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "choose_accelerator", lambda: Choice("tcg", "KVM is not usable (none): it is emulated"))
    monkeypatch.setattr(needs, "find_program", lambda name: None)
    monkeypatch.setattr(needs, "firmware", lambda: None)
    with pytest.raises(MissingDependency) as caught:
        needs.require_needs(load_install_recipe("windows-11"))
    said = str(caught.value)
    for part in ("qemu-system-x86_64", "qemu-img", "KVM is not usable (none)", "ovmf", "nowhere", "image import"):
        assert part in said
    monkeypatch.setattr(needs, "choose_accelerator", lambda: Choice("kvm"))
    monkeypatch.setattr(needs, "find_program", lambda name: f"/usr/bin/{name}")
    (need,) = needs.missing_needs(load_install_recipe("android-14"))
    assert "blissos-17.iso has no pin" in need.what and "install.yaml" in need.fix
    assert needs.missing_needs(load_install_recipe("android-x86-9")) == []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(recipe_root() / "windows-11", tmp_path / "windows-11")
    return tmp_path


def changed(root: Path, old: str, new: str) -> InstallRecipe:
    file = root / "windows-11" / "install.yaml"
    file.write_text(file.read_text().replace(old, new))
    return load_install_recipe("windows-11", root)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sha256: c8dbc96b", "sha256: xyz", "no SHA-256"),
        ("url: https://software", "url: http://software", "downloads.0.url"),
        ("answers: usb", "answers: none", "belongs to answers"),
        ("use: cdrom", "use: answers", "one download is the medium"),
        ("firmware: uefi", "firmware: coreboot", "machine.firmware"),
        ("file: base_windows_11.qcow2", "file: ../base.qcow2", "file"),
        ("start: {key: spc, key_for_s: 20}", "start: {kernel: kernel}", "belong together"),
        ("os: windows", "os: windows\nsurprise: 1", "surprise"),
        ("about:", "about: [", "cannot be read as YAML"),
    ],
)
def test_a_wrong_recipe_is_refused_with_file_and_key(copy: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(SpecInvalid, match=said) as caught:
        changed(copy, old, new)
    assert str(copy / "windows-11" / "install.yaml") in str(caught.value)


def test_what_decides_over_an_installation_changes_its_digest(copy: Path) -> None:
    before = load_install_recipe("windows-11", copy).digest()
    assert changed(copy, "run: nowhere", "run: on a host of ours").digest() == before
    (copy / "windows-11/answers/autounattend.xml").write_text("<unattend/>")
    assert load_install_recipe("windows-11", copy).digest() != before
    with pytest.raises(SpecNotFound, match="there are: windows-11"):
        load_install_recipe("windows-12", copy)


def test_files_are_read_out_of_a_medium(tmp_path: Path) -> None:
    medium = tmp_path / "medium.iso"
    medium.write_bytes(boot_medium(b"", {"KERNEL": b"k" * 5000, "INITRD.IMG": b"i"}))
    assert read_file(medium, "/kernel") == b"k" * 5000 and read_file(medium, "initrd.img") == b"i"
    for path, said in (("vmlinuz", "it has: initrd.img, kernel"), ("kernel/x", "no file kernel/x")):
        with pytest.raises(SpecInvalid, match=said):
            read_file(medium, path)
    (tmp_path / "other").write_bytes(b"x" * 40_000)
    with pytest.raises(SpecInvalid, match="no ISO 9660"):
        read_file(tmp_path / "other", "kernel")
