"""Files: what is copied in comes out the same, and what is missing is said to be."""

from __future__ import annotations

import tempfile
from pathlib import Path

from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.testing.conformance.case import ConformanceCase
from gym_anything.testing.conformance.guest_words import words_of

_ODD_NAME = "häßlich name with  blanks 你.bin"


class FileChecks(ConformanceCase):
    """For worlds with a file system."""

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.host = Path(folder.name)

    def filed(self) -> tuple[BaseRunner, str]:
        """Return a world with files and a guest folder to use; skip where there is none."""
        can = self.subject.cls.overrides(["copy_to"]) and self.subject.cls.overrides(["copy_from"])
        if not can and self.subject.profile == "desktop_linux":
            self.fail("the profile desktop_linux promises copy_to and copy_from")
        self.needs(can, "this world has no files")
        runner = self.world()
        return runner, words_of(runner.get_platform_family()).folder

    def round_trip(self, content: bytes, name: str) -> None:
        """Copy a file in and out and compare."""
        runner, folder = self.filed()
        source, back = self.host / "in.bin", self.host / "out.bin"
        source.write_bytes(content)
        self.bounded(lambda: runner.copy_to(str(source), folder + name))
        self.bounded(lambda: runner.copy_from(folder + name, str(back)))
        self.assertEqual(back.read_bytes(), content)

    def test_bytes_come_back_as_they_went(self) -> None:
        self.round_trip(bytes(range(256)) * 4096, "conformance.bin")

    def test_an_empty_file_comes_back_empty(self) -> None:
        self.round_trip(b"", "conformance-empty")

    def test_names_with_blanks_and_other_letters_work(self) -> None:
        """N12: paths with spaces and non-ASCII letters work."""
        self.round_trip(b"odd", _ODD_NAME)

    def test_a_file_is_replaced(self) -> None:
        self.round_trip(b"a longer first content", "conformance-twice")
        self.round_trip(b"short", "conformance-twice")

    def test_a_folder_comes_back_whole(self) -> None:
        runner, folder = self.filed()
        tree = self.host / "tree"
        (tree / "sub").mkdir(parents=True)
        (tree / "a.txt").write_bytes(b"a")
        (tree / "sub" / "b.txt").write_bytes(b"b")
        self.bounded(lambda: runner.copy_to(str(tree), folder + "conformance-tree"))
        self.bounded(lambda: runner.copy_from(folder + "conformance-tree", str(self.host / "back")))
        found = {p.relative_to(self.host / "back").as_posix() for p in (self.host / "back").rglob("*") if p.is_file()}
        self.assertEqual(found, {"a.txt", "sub/b.txt"})

    def test_a_missing_guest_file_is_said_to_be_missing(self) -> None:
        runner, folder = self.filed()
        target = self.host / "never"
        with self.assertRaises(FileNotFoundError):
            self.bounded(lambda: runner.copy_from(folder + "conformance-no-such-file", str(target)))
        self.assertFalse(target.exists(), "a file was made for one that does not exist")

    def test_a_missing_host_file_is_said_to_be_missing(self) -> None:
        runner, folder = self.filed()
        with self.assertRaises(FileNotFoundError):
            self.bounded(lambda: runner.copy_to(str(self.host / "no-such-file"), folder + "conformance-none"))

    def test_put_file_says_where_the_file_is(self) -> None:
        runner, _ = self.filed()
        source = self.host / "put.txt"
        source.write_bytes(b"put")
        where = self.bounded(lambda: runner.put_file(str(source)))
        self.bounded(lambda: runner.copy_from(where, str(self.host / "put.back")))
        self.assertEqual((self.host / "put.back").read_bytes(), b"put")
