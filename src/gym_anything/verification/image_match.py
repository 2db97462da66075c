"""Mode ``image_match``: a screenshot of the episode against a target picture, compared on the host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gym_anything.errors import SpecInvalid, VerifierError
from gym_anything.verification.contract import JudgeRequest, Verdict
from gym_anything.verification.similarity import structural_similarity

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DEFAULT_SSIM = 0.95


def judge_by_image(request: JudgeRequest, spec: Mapping[str, Any]) -> Verdict:
    """Compare ``observed`` (a file of the episode, ``final.png``) with ``target`` (a file beside the task).

    Passes when the structural similarity is at least ``ssim_gt`` (0.95). ``metric`` may say the same as
    ``{"ssim_gt": 0.9}`` or ``"ssim"``. ``region: [x, y, width, height]`` compares a part; ``resize: true`` scales the
    target to the screen, else sizes must agree.

    Raises: SpecInvalid (blame content) for a missing or unreadable target or a wrong option, VerifierError when the
        episode has no such screenshot.
    """
    threshold = _threshold(spec)
    target_path = _target(spec, request.task_root)
    observed_path = request.episode_dir / str(spec.get("observed") or "final.png")
    if not observed_path.is_file():
        raise VerifierError(f"image_match: the episode has no {observed_path.name}; was the screen captured?")
    observed = _load(observed_path, None)
    size = (observed.shape[1], observed.shape[0]) if spec.get("resize") else None
    try:
        target = _load(target_path, size)
    except (OSError, SyntaxError) as error:  # Pillow raises SyntaxError for a broken PNG
        raise _spec_error(f"the target {target_path} is not a picture: {error}", "target") from error
    if observed.shape != target.shape:
        raise _spec_error(
            f"the target is {target.shape[1]}x{target.shape[0]}, the screen {observed.shape[1]}x{observed.shape[0]}; "
            "make them equal or set resize: true",
            "target",
        )
    observed, target = _cropped(observed, target, spec.get("region"))
    ssim = structural_similarity(observed, target)
    passed = ssim >= threshold
    text = f"similarity to {target_path.name} is {ssim:.4f}, {'at least' if passed else 'under'} {threshold:g}"
    score = 100.0 if passed else max(0.0, min(100.0, ssim * 100.0))
    return Verdict(passed, score, text, {"ssim": round(ssim, 6), "ssim_gt": threshold})


def check_image_match(spec: Mapping[str, Any], task_root: Path | None) -> None:
    """Look for the target and read the options. Raises: SpecInvalid."""
    _threshold(spec)
    _target(spec, task_root)


def _spec_error(message: str, key: str) -> SpecInvalid:
    return SpecInvalid(f"image_match: {message}", detail={"key": f"success.spec.{key}"})


def _threshold(spec: Mapping[str, Any]) -> float:
    metric = spec.get("metric")
    options: dict[str, Any] = {"ssim_gt": spec.get("ssim_gt", DEFAULT_SSIM)}
    if isinstance(metric, Mapping):
        options.update(metric)
    elif metric not in (None, "ssim", "ssim_gt"):
        raise _spec_error(f"unknown metric {metric!r}; known: ssim", "metric")
    unknown = set(options) - {"ssim_gt"}
    if unknown:
        raise _spec_error(f"unknown metric {sorted(unknown)}; known: ssim_gt", "metric")
    value = options["ssim_gt"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1 <= value <= 1:
        raise _spec_error(f"ssim_gt must be a number from -1 to 1, it is {value!r}", "ssim_gt")
    return float(value)


def _target(spec: Mapping[str, Any], task_root: Path | None) -> Path:
    name = spec.get("target")
    if not isinstance(name, str) or not name:
        raise _spec_error(f"success.spec.target must name a picture, it is {name!r}", "target")
    path = Path(name)
    if not path.is_absolute():
        if task_root is None:
            raise _spec_error(f"target {name!r} lies beside the task, but the task has no folder", "target")
        path = task_root / path
    if not path.is_file():
        raise _spec_error(f"the target {path} does not exist", "target")
    return path


def _load(path: Path, size: tuple[int, int] | None) -> npt.NDArray[np.float64]:
    import numpy as np
    from PIL import Image

    with Image.open(path) as image:
        rgb = image.convert("RGB")
        if size is not None and rgb.size != size:
            rgb = rgb.resize(size, Image.Resampling.LANCZOS)
        return np.asarray(rgb, dtype=np.float64)


def _cropped(observed: Any, target: Any, region: Any) -> tuple[Any, Any]:
    if region is None:
        return observed, target
    numbers = isinstance(region, list | tuple) and len(region) == 4 and all(type(v) is int for v in region)
    if not numbers:
        raise _spec_error(f"region must be [x, y, width, height], it is {region!r}", "region")
    x, y, width, height = region
    if x < 0 or y < 0 or width < 1 or height < 1 or x + width > observed.shape[1] or y + height > observed.shape[0]:
        raise _spec_error(
            f"region {list(region)} is outside of the {observed.shape[1]}x{observed.shape[0]} screen", "region"
        )
    return observed[y : y + height, x : x + width], target[y : y + height, x : x + width]
