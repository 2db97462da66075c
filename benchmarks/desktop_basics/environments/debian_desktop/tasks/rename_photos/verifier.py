"""Ground truth: names and contents of the files in /home/ga/Photos."""

from judging import judge, read_files

OTHERS = {"map of the lake.png": "a drawing", "JPEG.txt": "a list"}
PHOTOS = {**{f"IMG_00{n:02d}": f"photo {n:02d}" for n in range(1, 25)}, "last day": "photo with spaces"}


def verify(traj, env_info, task_info):
    files = read_files(env_info, "/home/ga/Photos")
    there = [name for name, said in PHOTOS.items() if files.get(f"{name}.jpg") == said]
    old = [name for name in files if name.endswith(".JPEG")]
    extra = set(files) - {f"{name}{end}" for name in PHOTOS for end in (".jpg", ".JPEG")} - set(OTHERS)
    verdict = judge(
        {"every photo has its new name": (70, len(there) == len(PHOTOS)), "no old name is left": (30, bool(there) and not old)},
        {"the other files": all(files.get(name) == said for name, said in OTHERS.items()), "nothing new": not extra},
        f"{len(there)} of {len(PHOTOS)} renamed, {len(old)} old names left",
    )
    partly = 0 if len(there) == len(PHOTOS) else 50 * len(there) // len(PHOTOS)
    return {**verdict, "score": max(verdict["score"], partly)} if not verdict["passed"] else verdict
