"""``gym-anything image import``: prepared images from a release, a mirror or a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.output import json_option, make_console, print_json

if TYPE_CHECKING:
    from gym_anything.runtime.images.prepared.download import Progress
    from gym_anything.runtime.images.prepared.store import PreparedImage

_MIB = 1 << 20
_STEP_PERCENT = 10


@click.command("import")
@click.argument("source")
@click.option("--sha256", metavar="DIGEST", help="Pin of what SOURCE names; needed unless it is a local image.json.")
@click.option("--image-sha256", metavar="DIGEST", help="Pin of the image inside an archive that has no image.json.")
@click.option("--name", help="Name to keep it under. Default: what image.json says, else the file's name.")
@click.option("--mirror", metavar="PLACE", help="Folder, file or URL (with / at its end) to take the archive from.")
@click.option("--force", is_flag=True, help="Import again, even if it is there.")
@json_option
def import_(
    source: str,
    sha256: str | None,
    image_sha256: str | None,
    name: str | None,
    mirror: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Import a prepared image from SOURCE: a release's image.json, an archive or an image, as a URL or a path.

    Everything is checked against its SHA-256. A download that was cut is continued by the same command. What is there
    already is not asked for again, so that it works without a network.
    """
    from gym_anything.runtime.images.prepared.importing import import_image
    from gym_anything.runtime.images.prepared.source import ImportRequest
    from gym_anything.runtime.images.prepared.store import PreparedImage

    request = ImportRequest(source, sha256=sha256, image_sha256=image_sha256, name=name, mirror=mirror)
    with _bar(source) as progress:
        image = import_image(request, force=force, progress=progress)
    if isinstance(image, PreparedImage):
        row = prepared_row(image)
    else:
        row = {
            "name": image.name,
            "kind": "rootfs",
            "sha256": image.digest,
            "size_mib": int(image.record.get("rootfs_bytes", 0)) // _MIB,
            "source": image.record.get("imported_from"),
            "path": str(image.rootfs),
        }
    if as_json:
        print_json(row)
        return 0
    click.echo(f"{row['name']}: {row['path']}")
    click.echo(f"{row['kind']}, {row['size_mib']} MiB, sha256:{row['sha256']}")
    return 0


def build_installed(name: str, *, mirror: str | None, force: bool, as_json: bool) -> int:
    """``gym-anything image build`` of a system that installs itself."""
    from gym_anything.runtime.images.install.recipe import load_install_recipe
    from gym_anything.runtime.images.install.run import install

    with _bar(f"image {name}") as progress:
        image = install(load_install_recipe(name), mirror=mirror, force=force, progress=progress)
    row = prepared_row(image)
    if as_json:
        print_json(row)
        return 0
    click.echo(f"{name}: {row['path']}")
    click.echo(f"{row['kind']}, {row['size_mib']} MiB, sha256:{row['sha256']}")
    return 0


def prepared_row(image: PreparedImage) -> dict[str, Any]:
    """Return what lists and reports say of a prepared image."""
    record = image.record
    facts = {key: record.get(key) for key in ("name", "kind", "version", "sha256", "archive_sha256", "source")}
    return {**facts, "size_mib": int(record["bytes"]) // _MIB, "path": str(image.path)}


@contextmanager
def _bar(title: str) -> Iterator[Progress]:
    """Show the bytes: a bar on a terminal, a line for every tenth elsewhere; on standard error."""
    console = make_console(stderr=True)
    if not console.is_terminal:
        yield _lines(title)
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), DownloadColumn(binary_units=True))
    with Progress(*columns, TransferSpeedColumn(), TimeRemainingColumn(), console=console, transient=True) as live:
        bar = live.add_task("asking", total=None)
        stage = ""

        def show(doing: str, done: int, total: int | None) -> None:
            nonlocal stage
            if doing != stage:
                stage = doing
                live.reset(bar, description=doing)
            live.update(bar, completed=done, total=total)

        yield show


def _lines(title: str) -> Progress:
    told = ("", -1)

    def tell(doing: str, done: int, total: int | None) -> None:
        nonlocal told
        step = done * 100 // total // _STEP_PERCENT if total else done // (256 * _MIB)
        if told == (doing, step):
            return
        told = (doing, step)
        share = f"{done * 100 // total} % of {total // _MIB} MiB" if total else f"{done // _MIB} MiB"
        click.echo(f"{title}: {doing}: {share}", err=True)

    return tell
