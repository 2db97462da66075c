"""Ground truth: the archive itself, read with tarfile."""

import io
import tarfile
import zlib

from judging import judge, read_bytes

SECRET = "secret.key"
STAY = {"letter.txt": "Dear Ada\n", "table.csv": "figures\n", "terms.txt": "terms\n"}


def verify(traj, env_info, task_info):
    raw = read_bytes(env_info, "/home/ga/parcel.tar.gz")
    try:
        with tarfile.open(fileobj=io.BytesIO(raw or b"")) as tar:
            members = {member.name.removeprefix("./"): tar.extractfile(member) for member in tar if member.isfile()}
            files = {name: member.read().decode(errors="replace") for name, member in members.items()}
    except (tarfile.ReadError, EOFError, OSError, zlib.error) as error:
        return judge({"an archive that can be read": (100, False)}, note=str(error))
    return judge(
        {
            "a file is gone from the archive": (20, not {SECRET, *STAY} <= files.keys()),
            "secret.key is gone": (80, SECRET not in files),
        },
        {"the other files": {name: said for name, said in files.items() if name != SECRET} == STAY},
        f"the archive has {sorted(files)}",
    )
