"""The recording: a video that plays, costs steps nothing, and survives a kill."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.episode.recording import FrameWork, start_frame_work
from gym_anything.episode.video import Video
from gym_anything.errors import WorldLost
from gym_anything.observations.frame import Frame
from gym_anything.specs.recording import Recording

pytestmark = pytest.mark.unit


def picture(shade: int, width: int = 64, height: int = 48) -> Any:
    return np.full((height, width, 3), shade, np.uint8)


def read(path: Path) -> tuple[Any, list[tuple[float, int]]]:
    """Return the video stream's facts and (seconds, mean shade) of each frame."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        frames = [
            (float(f.time or 0), int(f.to_ndarray(format="rgb24").mean().round())) for f in container.decode(video=0)
        ]
        return (stream.width, stream.height, stream.codec_context.name, len(container.streams.audio)), frames


def test_a_video_shows_each_picture_for_its_time(tmp_path: Path) -> None:
    video = Video(tmp_path / "v.mp4", Recording())
    for at, shade in ((0.0, 10), (0.5, 120), (2.0, 240)):
        video.add(picture(shade), at)
    video.close(3.0)
    video.close(3.0)
    facts, frames = read(tmp_path / "v.mp4")
    assert facts == (64, 48, "h264", 0)
    assert [t for t, _ in frames] == pytest.approx([0, 0.5, 2.0, 3.0], abs=0.01)
    assert [shade for _, shade in frames] == pytest.approx([10, 120, 240, 240], abs=4)


@pytest.mark.parametrize("size", [(65, 49), (1, 1), (3, 2), (1367, 769)])
def test_odd_sizes_play(tmp_path: Path, size: tuple[int, int]) -> None:
    video = Video(tmp_path / "v.mp4", Recording())
    video.add(picture(99, *size), 0)
    video.close(1)
    (width, height, *_), frames = read(tmp_path / "v.mp4")
    assert width % 2 == 0 and height % 2 == 0 and abs(width - size[0]) <= 1 and abs(height - size[1]) <= 1
    assert frames[0][1] == pytest.approx(99, abs=4)


def test_size_and_codec_follow_the_spec(tmp_path: Path) -> None:
    video = Video(tmp_path / "v.mp4", Recording(video_resolution=(32, 24), video_codec="mpeg4"))
    video.add(picture(50), 0)
    video.add(picture(60, 80, 20), 1)  # the screen changed its size: the video keeps its own
    video.close(2)
    assert read(tmp_path / "v.mp4")[0][:3] == (32, 24, "mpeg4")


def test_an_encoder_that_is_not_there_is_replaced_and_said(tmp_path: Path) -> None:
    video = Video(tmp_path / "v.mp4", Recording(video_codec="no_such_codec"))
    video.add(picture(50), 0)
    video.close(1)
    assert video.notes and "no_such_codec" in video.notes[0]
    assert read(tmp_path / "v.mp4")[1]


def test_a_silent_audio_track_on_request(tmp_path: Path) -> None:
    video = Video(tmp_path / "v.mp4", Recording(force_audio_track=True))
    video.add(picture(50), 0)
    video.close(2)
    assert read(tmp_path / "v.mp4")[0][3] == 1
    with av.open(str(tmp_path / "v.mp4")) as container:
        seconds = sum(f.samples / f.sample_rate for f in container.decode(audio=0))
    assert seconds == pytest.approx(2, abs=0.1)


def test_a_video_without_its_end_still_plays(tmp_path: Path) -> None:
    """A killed process leaves a file that plays up to its last fragment."""
    video = Video(tmp_path / "v.mp4", Recording())
    for n in range(120):
        video.add(picture(n), n / 10)
    copied = tmp_path / "killed.mp4"
    copied.write_bytes((tmp_path / "v.mp4").read_bytes())
    video.close(12)
    assert len(read(copied)[1]) >= 40


def test_frame_work_records_what_it_is_offered(tmp_path: Path) -> None:
    work = start_frame_work(tmp_path / "v.mp4", Recording(), sample=None)
    assert work.wants_picture()
    assert work.offer(picture(10), save_to=tmp_path / "frame.png")
    assert not work.wants_picture(), "at most ten a second"
    work.flush()
    assert (tmp_path / "frame.png").is_file()
    assert work.offer(picture(200))
    work.close()
    work.close()
    shades = [shade for _, shade in read(tmp_path / "v.mp4")[1]]
    assert shades[0] == pytest.approx(10, abs=4) and shades[-1] == pytest.approx(200, abs=4)
    assert not work.notes and not work.offer(picture(3))


def test_frame_work_samples_the_screen_by_itself(tmp_path: Path) -> None:
    shade = iter([10, 10, 10, 90, 90, 180])
    seen = threading.Event()

    def sample() -> Frame:
        value = next(shade, None)
        if value is None:
            seen.set()
            value = 180
        return Frame(picture(value), 1, 0.0)

    work = FrameWork(Video(tmp_path / "v.mp4", Recording()), fps=50, sample=sample)
    work.offer(picture(10))
    assert seen.wait(10)
    work.close()
    shades = [s for _, s in read(tmp_path / "v.mp4")[1]]
    assert [round(s / 10) * 10 for s in dict.fromkeys(shades)] == [10, 90, 180], "an unchanged screen costs no frame"


def test_a_pause_is_not_in_the_video(tmp_path: Path) -> None:
    work = FrameWork(Video(tmp_path / "v.mp4", Recording()), fps=1000)
    work.offer(picture(10))
    work.flush()
    work.pause()
    work.pause()
    assert not work.wants_picture()
    work.offer(picture(100))
    work.flush()
    wait_until(lambda: work._paused_at is not None and __import__("time").monotonic() - work._paused_at > 0.5,
               deadline=Deadline.after(5), awaited="half a second of pause")  # fmt: skip
    work.resume()
    work.offer(picture(200))
    work.close()
    frames = read(tmp_path / "v.mp4")[1]
    assert all(abs(shade - 100) > 20 for _, shade in frames)
    assert frames[-1][0] < 0.45, "the half second is not in it"


def test_a_lost_world_ends_the_sampling_quietly(tmp_path: Path) -> None:
    asked = threading.Event()

    def sample() -> Frame:
        asked.set()
        raise WorldLost("gone")

    work = FrameWork(Video(tmp_path / "v.mp4", Recording()), fps=50, sample=sample)
    work.offer(picture(10))
    assert asked.wait(10)
    work.close()
    assert read(tmp_path / "v.mp4")[1] and not work.notes


def test_an_encoder_that_fails_is_said_and_frames_are_still_saved(tmp_path: Path) -> None:
    work = start_frame_work(tmp_path / "no such folder" / "v.mp4", Recording(), sample=None)
    work.offer(picture(10))
    work.flush()
    assert work.offer(picture(20), save_to=tmp_path / "frame.png")
    work.close()
    assert (tmp_path / "frame.png").is_file()
    assert any("recording ended early" in note for note in work.notes)


def test_an_encoder_that_is_behind_leaves_pictures_out_and_says_so(tmp_path: Path) -> None:
    release = threading.Event()

    class SlowVideo(Video):
        def add(self, picture: Any, at_s: float) -> None:
            release.wait(10)
            super().add(picture, at_s)

    work = FrameWork(SlowVideo(tmp_path / "v.mp4", Recording()), fps=10)
    taken = [work.offer(picture(n)) for n in range(20)]
    release.set()
    work.close()
    assert taken[0] and not taken[-1], "offering never waits"
    assert any("left out" in note for note in work.notes)


def test_disabled_recording_makes_no_file_and_no_thread(tmp_path: Path) -> None:
    threads = threading.active_count()
    work = start_frame_work(tmp_path / "v.mp4", Recording(enable=False), sample=lambda: Frame(picture(1), 1, 0.0))
    assert not work.wants_picture()
    work.close()
    assert threading.active_count() == threads and not list(tmp_path.iterdir())
