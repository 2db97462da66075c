"""128 forks of a QEMU world that live for ten minutes: their memory when ready, and then."""

from __future__ import annotations

from gym_anything.measure.fork_series import ForkRequest
from tests.bench.figure_qemu import answer

REQUEST = ForkRequest(rounds=1, count=128, stay_s=600.0)


def main() -> None:
    print(answer(REQUEST, []))


if __name__ == "__main__":
    main()
