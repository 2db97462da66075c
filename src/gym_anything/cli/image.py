"""``gym-anything image``: build, import, list and verify images of guests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym_anything.cli.image_import import build_installed, import_, prepared_row
from gym_anything.cli.output import json_option, make_console, print_json, print_table
from gym_anything.errors import SpecInvalid, SpecNotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from gym_anything.runtime.images.prepared.store import PreparedImage
    from gym_anything.runtime.images.store import StoredImage

_MIB = 1 << 20


@click.group()
def image() -> None:
    """Build images of guests from Debian packages alone, import prepared ones, list and verify them."""


image.add_command(import_)


@image.command()
@click.argument("name")
@click.option("--suite", metavar="RELEASE", help="Debian release: bookworm or trixie. Default: this host's own.")
@click.option(
    "--format",
    "format_name",
    metavar="FORMAT",
    help="Also write it as: docker-archive (for `docker load`), apptainer-sif, apptainer-sandbox, qcow2 (a folder with "
    "disk and kernel), release (a folder that `image import` takes).",
)
@click.option(
    "--output", type=click.Path(path_type=Path), help="File for --format. Default: beside the root file system."
)
@click.option("--mirror", metavar="PLACE", help="Of a system that installs itself: folder or URL of its downloads.")
@click.option("--force", is_flag=True, help="Build again, even if it is there.")
@json_option
def build(
    name: str,
    suite: str | None,
    format_name: str | None,
    output: Path | None,
    mirror: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Build the image of recipe NAME; what is there already is not built again.

    Most recipes are root file systems of Debian packages. Windows, Android and Ubuntu install themselves into a disk,
    from media of their publishers; that needs KVM, and takes an hour.
    """
    from gym_anything.runtime.images.formats.table import writer
    from gym_anything.runtime.images.install.recipe import install_recipe_names
    from gym_anything.runtime.images.recipe import load_recipe
    from gym_anything.runtime.images.rootfs import build_rootfs, plan_build

    installed = install_recipe_names()
    if name in installed:
        if suite or format_name or output:
            raise click.UsageError(
                f"{name} installs itself into a disk; --suite, --format and --output have no meaning"
            )
        return build_installed(name, mirror=mirror, force=force, as_json=as_json)
    if mirror is not None:
        raise click.UsageError("--mirror is for systems that install themselves; apt has its own mirrors")
    if output is not None and format_name is None:
        raise click.UsageError("--output names the file of a format; give --format, too")
    write, ending = writer(format_name) if format_name is not None else (None, "")
    try:
        plan = plan_build(load_recipe(name), suite)
    except SpecNotFound as error:
        raise SpecNotFound(
            f"{error}; and installing themselves: {', '.join(installed)}", detail=error.detail
        ) from error
    with _progress(f"image {name}") as tell:
        stored = build_rootfs(plan, force=force, progress=lambda stage, files: tell(_stage(stage, files)))
        written = None
        if write is not None:
            written = output or stored.path / f"{name}{ending}"
            tell(f"writing {written}")
            write(stored, written)
    row = {**_as_dict(stored), "written": None if written is None else str(written)}
    if as_json:
        print_json(row)
        return 0
    click.echo(f"{name}: {stored.rootfs}")
    click.echo(f"root file system sha256:{stored.digest}, {row['size_mib']} MiB, {row['packages']} packages")
    if written is not None:
        click.echo(f"written: {written}")
    return 0


@image.command("list")
@json_option
def list_(as_json: bool) -> int:
    """List the recipes, what is built of each, and the prepared images that were imported."""
    from gym_anything.runtime.images.install.recipe import install_recipe_names, load_install_recipe
    from gym_anything.runtime.images.prepared.store import PreparedStore
    from gym_anything.runtime.images.recipe import load_recipe, recipe_names, recipe_root
    from gym_anything.runtime.images.store import ImageStore

    recipes: list[dict[str, str]] = []
    for name in recipe_names(recipe_root()):
        recipes.append({"name": name, "about": load_recipe(name).about, "kind": "packages"})
    for name in install_recipe_names():
        installed = load_install_recipe(name)
        recipes.append({"name": name, "about": installed.about, "kind": "installs itself", "run": installed.run})
    built = ImageStore().all()
    prepared = [prepared_row(found) for found in PreparedStore().all()]
    if as_json:
        print_json({"recipes": recipes, "built": [_as_dict(stored) for stored in built], "prepared": prepared})
        return 0
    keys = ("name", "kind", "about")
    print_table(("recipe", "how", "what"), [[recipe[key] for key in keys] for recipe in recipes])
    rows = [_as_dict(stored) for stored in built]
    for row in rows:
        row["also"] = ", ".join(row["formats"])
    columns = ("name", "suite", "size_mib", "packages", "built", "also", "path")
    headings = ("image", "release", "MiB", "packages", "built", "also as", "where")
    print_table(headings, [[row[key] for key in columns] for row in rows])
    if prepared:
        print_table(
            ("prepared", "kind", "version", "MiB", "where"),
            [[row[key] for key in ("name", "kind", "version", "size_mib", "path")] for row in prepared],
        )
    return 0


@image.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@json_option
def verify(names: tuple[str, ...], as_json: bool) -> int:
    """Read built and imported images (all, or the named ones) and compare them with their records.

    Exit code 1 when one is not what it was, or a named one is not there.
    """
    from gym_anything.runtime.images.prepared.store import PreparedStore
    from gym_anything.runtime.images.store import ImageStore

    built, prepared = ImageStore().all(), PreparedStore().all()
    missing = sorted(set(names) - {stored.name for stored in built} - {found.name for found in prepared})
    rows = [_verified(stored) for stored in built if not names or stored.name in names]
    rows += [_verified_prepared(found) for found in prepared if not names or found.name in names]
    good = not missing and all(row["ok"] for row in rows)
    if as_json:
        print_json({"ok": good, "images": rows, "missing": missing})
        return 0 if good else 1
    for name in missing:
        click.echo(f"error: {name} is not built; fix: gym-anything image build {name}", err=True)
    for row in rows:
        state = ("as imported" if "kind" in row else "as built") if row["ok"] else "; ".join(row["problems"])
        note = " (the recipe has changed since)" if row["outdated"] else ""
        note += "".join(f" ({name} not checked)" for name in row.get("unchecked", ()))
        click.echo(f"{row['path']}: {state}{note}")
    return 0 if good else 1


def _verified(stored: StoredImage) -> dict[str, Any]:
    from gym_anything.runtime.images.verify import verify_image

    with _progress(f"reading {stored.name}") as tell:
        check = verify_image(stored, progress=lambda done: tell(f"{done // _MIB} MiB"))
    found = {"ok": check.ok, "problems": check.problems, "outdated": check.outdated, "unchecked": check.unchecked}
    return {**_as_dict(stored), **found}


def _verified_prepared(found: PreparedImage) -> dict[str, Any]:
    problems = []
    with _progress(f"reading {found.name}") as tell:
        try:
            found.check(lambda stage, done, total: tell(f"{done // _MIB} MiB"))
        except SpecInvalid as error:
            problems.append(str(error))
        except OSError as error:
            problems.append(f"{found.path} cannot be read: {error}")
    return {**prepared_row(found), "ok": not problems, "problems": problems, "outdated": False}


def _as_dict(stored: StoredImage) -> dict[str, Any]:
    import time

    from gym_anything.runtime.images.formats.table import written

    record = stored.record
    return {
        "name": stored.name,
        "suite": record.get("suite"),
        "rootfs_sha256": stored.digest,
        "size_mib": int(record.get("rootfs_bytes", 0)) // _MIB,
        "packages": len(record.get("packages", ())),
        "built": time.strftime("%Y-%m-%d %H:%M", time.localtime(float(record.get("built_at", 0)))),
        "formats": {name: str(path) for name, path in written(stored).items()},
        "path": str(stored.path),
    }


def _stage(stage: str, files: int) -> str:
    return f"{stage}: {files} files" if files else stage


@contextmanager
def _progress(title: str) -> Iterator[Callable[[str], object]]:
    """Show what is being done: a live line on a terminal, one line for each stage elsewhere; on standard error."""
    console = make_console(stderr=True)
    if not console.is_terminal:
        told = ""

        def say(text: str) -> None:
            nonlocal told
            stage = text.partition(":")[0]
            if stage != told and not stage.endswith("MiB"):
                told = stage
                click.echo(f"{title}: {stage}", err=True)

        yield say
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as live:
        bar = live.add_task(title, total=None)
        yield lambda text: live.update(bar, description=f"{title}: {text}")
