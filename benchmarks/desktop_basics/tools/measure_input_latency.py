"""How long input takes in a world, with proof that its applications got it: `gym-anything bench input-latency`.

python benchmarks/desktop_basics/tools/measure_input_latency.py --runner docker --rounds 20 --out latency
"""

import sys

from gym_anything.cli.main import main

if __name__ == "__main__":
    main(["bench", "input-latency", *sys.argv[1:]])
