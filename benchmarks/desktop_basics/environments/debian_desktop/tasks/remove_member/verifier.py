"""Ground truth: the archive itself, read with tarfile."""

import io
import tarfile

from judging import judge, read_bytes

STAY = {"letter.txt": "Dear Ada\n", "table.csv": "figures\n", "terms.txt": "terms\n"}


def verify(traj, env_info, task_info):
    raw = read_bytes(env_info, "/home/ga/parcel.tar.gz")
    if raw is None:
        return judge({"the archive": (100, False)})
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        files = {m.name.removeprefix("./"): tar.extractfile(m).read().decode() for m in tar.getmembers() if m.isfile()}
    return judge(
        {"secret.key is gone": (100, "secret.key" not in files)},
        {"the other files": {name: said for name, said in files.items() if name != "secret.key"} == STAY},
        f"the archive has {sorted(files)}",
    )
