"""``gym-anything image import``: from a release, a mirror or a local file to an image that is kept and read offline."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from gym_anything._util.reflink import copy_file
from gym_anything.errors import HostError, SpecInvalid
from gym_anything.runtime.images.prepared.disk_header import check_disk
from gym_anything.runtime.images.prepared.download import (
    Progress,
    Wanted,
    check_digest,
    download,
    is_full,
    no_progress,
    no_room,
    require_room,
)
from gym_anything.runtime.images.prepared.manifest import checked_sha256
from gym_anything.runtime.images.prepared.source import (
    KINDS,
    ImportPlan,
    ImportRequest,
    local_file,
    local_path,
    plan_import,
    request_pin,
    without_secrets,
    wrong_digest,
)
from gym_anything.runtime.images.prepared.store import PreparedImage, PreparedStore, Workplace
from gym_anything.runtime.images.prepared.unpack import unpack_image
from gym_anything.runtime.images.store import ROOTFS, ImageStore, StoredImage

_OF_A_BUILD = ("recipe_digest", "packages", "source_date_epoch")


def import_image(
    request: ImportRequest,
    *,
    store: PreparedStore | None = None,
    images: ImageStore | None = None,
    force: bool = False,
    progress: Progress = no_progress,
    aborted: Callable[[], bool] = lambda: False,
) -> PreparedImage | StoredImage:
    """Return the image, imported when it is not there (or with ``force``); nothing is asked of a network when it is.

    What was there before stays until the new one is whole. Another process that imports the same is waited for.
    Raises: SpecInvalid (a pin is missing or wrong, a broken or unsafe archive), SpecNotFound (no such file),
        HostError (no room), Unreachable (the download stays; the same call continues it).
    """
    store, images = store or PreparedStore(), images or ImageStore()
    pin = request_pin(request)
    if pin is not None and not force and (known := _known(pin, store, images)) is not None:
        return known
    plan = plan_import(request)
    with store.importing(plan.archive.sha256, aborted) as work:
        there = None if force else _known(plan.image_sha256, store, images)
        if there is None:
            return _Import(plan, progress).run(work, store, images)
        if isinstance(there, PreparedImage):  # another release, or another process, brought it: learn this pin
            return store.publish(work.staging, {**there.record, "pins": [plan.pin, plan.archive.sha256]})
        return there


def _known(pin: str, store: PreparedStore, images: ImageStore) -> PreparedImage | StoredImage | None:
    found = store.pinned(pin)
    if found is not None:
        return found
    return next((image for image in images.all() if pin in (*image.record.get("pins", ()), image.digest)), None)


class _Import:
    """One import of one archive."""

    def __init__(self, plan: ImportPlan, progress: Progress) -> None:
        self._plan = plan
        self._progress = progress

    def run(self, work: Workplace, store: PreparedStore, images: ImageStore) -> PreparedImage | StoredImage:
        """Do it; ``work.part`` is what stays of a cut download."""
        plan = self._plan
        image = work.staging / "image"
        local = local_path(plan.place)
        if local is None:
            wanted = Wanted(plan.place, plan.archive.sha256, plan.archive.bytes)
            archive = download(wanted, work.part, progress=self._progress)
        else:
            archive = local_file(local)
            check_digest(archive, plan.archive.sha256, origin=str(archive), progress=self._progress)
        file = plan.image_file or ""
        if plan.packed:
            file = self._unpack(archive, image)
        elif local is None:
            archive.rename(image)
        else:
            self._copy(archive, image)
        record = self._record(file, image)
        check_disk(image, record["kind"], origin=f"{file} of {record['source']}")
        if record["kind"] == "rootfs":
            imported: PreparedImage | StoredImage = _as_rootfs(image, images, plan, record)
        else:
            image.rename(work.staging / file)
            imported = store.publish(work.staging, record)
        work.part.unlink(missing_ok=True)
        return imported

    def _unpack(self, archive: Path, image: Path) -> str:
        """Take the image out of its archive; return the file name it is kept under."""
        plan = self._plan
        limit = plan.image_bytes
        name, digest = unpack_image(archive, image, wanted=plan.image_file, limit=limit, progress=self._progress)
        if digest != plan.image_sha256:
            raise wrong_digest(f"{name} in {plan.place}", digest, plan.image_sha256)
        return plan.image_file or f"{plan.name}{PurePosixPath(name).suffix.lower()}"

    def _copy(self, source: Path, image: Path) -> None:
        require_room(image.parent, source.stat().st_blocks * 512, for_what=str(source))
        try:
            copy_file(source, image)
        except OSError as error:
            if is_full(error):
                raise no_room(image.parent, f"{source} could not be copied") from error
            raise HostError(f"{source} could not be copied: {error}", detail={"path": str(source)}) from error
        image.chmod(0o644)
        check_digest(image, self._plan.archive.sha256, origin=str(source), progress=self._progress)

    def _record(self, file: str, image: Path) -> dict[str, Any]:
        plan = self._plan
        return {
            "name": plan.name,
            "version": plan.version,
            "about": plan.about,
            "kind": plan.kind or KINDS[PurePosixPath(file).suffix],
            "file": file,
            "sha256": plan.image_sha256,
            "bytes": image.stat().st_size,
            "source": without_secrets(plan.place),
            "archive_sha256": plan.archive.sha256,
            "pins": sorted({plan.pin, plan.archive.sha256}),
            "imported_at": time.time(),
        }


def _as_rootfs(image: Path, images: ImageStore, plan: ImportPlan, record: dict[str, Any]) -> StoredImage:
    """Put a root file system where ``image build`` puts them, with the record of its build."""
    build = dict(plan.record)
    missing = [key for key in _OF_A_BUILD if key not in build]
    if missing or build.get("rootfs_sha256") != record["sha256"] or build.get("name") != plan.name:
        raise SpecInvalid(
            f"the manifest of {record['source']}: its record is not that of this root file system; it needs name, "
            f"rootfs_sha256, {', '.join(_OF_A_BUILD)} of the build",
            detail={"file": record["source"], "key": "record"},
        )
    digest = checked_sha256(str(build["recipe_digest"]))
    build |= {"rootfs_bytes": record["bytes"], "imported_from": record["source"], "pins": record["pins"]}
    with images.building(plan.name, digest):
        staging = images.staging(plan.name, digest)
        image.rename(staging / ROOTFS)
        return images.publish(staging, build)


def fetch_pinned(
    place: str, sha256: str, file: str, *, store: PreparedStore | None = None, progress: Progress = no_progress
) -> Path:
    """Return a file of a publisher that has this digest, kept in the store; nothing is asked when it is there.

    Raises: as ``import_image``.
    """
    store = store or PreparedStore()
    with store.importing(sha256) as work:
        kept = store.root / "downloads" / f"{sha256[:12]}-{file}"
        if kept.is_file():
            return kept
        kept.parent.mkdir(exist_ok=True)
        local = local_path(place)
        if local is None:
            download(Wanted(place, sha256), work.part, progress=progress).rename(kept)
            return kept
        source = local_file(local)
        check_digest(source, sha256, origin=str(source), progress=progress)
        copy = work.staging / file
        copy_file(source, copy)
        check_digest(copy, sha256, origin=str(source), progress=progress)
        copy.rename(kept)
        return kept
