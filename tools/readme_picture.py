"""Make ``docs/images/episode.png``: a real desktop in the middle of an episode, opened by hooks and typed on by actions.

``python -m tools.readme_picture`` needs what a local world needs, and takes some ten seconds.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from PIL import Image

from gym_anything import make

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "episode.png"
WIDTH = 1280
LARGEST_BYTES = 300_000

_SET_UP = r"""
cd /home/ga/Documents
mkdir -p Travel Invoices Recipes Photos
printf 'Month,Trains,Hotels,Meals,Sum\nJanuary,124,310,96,=SUM(B2:D2)\nFebruary,98,275,88,=SUM(B3:D3)\nMarch,143,402,120,=SUM(B4:D4)\n' > travel.csv
printf 'April,87,190,75,=SUM(B5:D5)\nMay,152,365,131,=SUM(B6:D6)\nJune,110,280,99,=SUM(B7:D7)\n' >> travel.csv
printf 'Dear all,\n\nplease note the names of our guests:\n\n' > guests.txt
printf 'tickets\npassport\nmap\n' > packing.txt
for n in 1 2 3; do printf 'line\n' > "report-$n.txt"; done
chown -R ga:ga /home/ga
"""
_OPEN = r"""
su - ga -c 'cd ~/Documents && DISPLAY=:1 setsid {command} > /tmp/{name}.log 2>&1 < /dev/null &'
window=$(timeout 60 xdotool search --sync --onlyvisible --class {name} | tail -n 1)
xdotool windowsize --sync $window {width} {height} windowmove $window {x} {y} windowactivate --sync $window
"""
_WINDOWS = (
    ("pcmanfm", "pcmanfm ~/Documents", 860, 470, 60, 50),
    ("gnumeric", "gnumeric ~/Documents/travel.csv", 900, 620, 960, 60),
    ("xterm", "xterm -fa 'DejaVu Sans Mono' -fs 11 -bg '#1d2430' -fg '#e8ecf1'", 800, 400, 1030, 600),
    ("mousepad", "mousepad ~/Documents/guests.txt", 820, 500, 130, 480),
)
_GUESTS = """\
  Jiří Žák, Praha
  Zoë Ångström, Malmö
  Юлия Смирнова, Казань
  Ελένη Παπαδοπούλου, Πάτρα
  山田 太郎, 東京
  김민준, 서울
  דנה לוי, חיפה

Ristorante «La Città», 19:30 – 4 × ½ ℓ of 🍷 and 🍝
"""


def picture() -> Image.Image:
    """Play the episode and return its screen."""
    with tempfile.TemporaryDirectory() as artifacts:
        spec = {
            "id": "picture@1",
            "base": "debian-desktop",
            "recording": {"enable": False, "output_dir": artifacts},
            "hooks": {"post_start": _SET_UP},
        }
        with make(spec, fast_io=True) as env:
            env.reset()
            for name, command, width, height, x, y in _WINDOWS:
                script = _OPEN.format(
                    name=name, command=command.replace("'", "'\\''"), width=width, height=height, x=x, y=y
                )
                assert env.runner.exec(script) == 0, name
                env.step({"action": "settle", "quiet_ms": 700, "max_ms": 6000})
            settle = {"action": "settle", "quiet_ms": 300, "max_ms": 4000}
            env.step(
                [{"mouse": {"left_click": [1500, 900]}}, settle, {"keyboard": {"text": "ls -l --color\n"}}, settle]
            )
            env.step([{"keyboard": {"text": "wc -l *.txt | sort -n\n"}}, settle])
            env.step([{"mouse": {"left_click": [600, 900]}}, settle, {"keyboard": {"keys": ["ctrl", "End"]}}])
            observation, *_ = env.step([{"keyboard": {"text": _GUESTS}}, settle])
            image = observation["screen"]["image"]
            assert isinstance(image, Image.Image)
            return image


def main() -> None:
    """Write the picture, scaled down and no larger than it may be."""
    screen = picture()
    small = screen.resize((WIDTH, screen.height * WIDTH // screen.width), Image.Resampling.LANCZOS)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    small.save(PICTURE, optimize=True)
    if PICTURE.stat().st_size > LARGEST_BYTES:
        small.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(PICTURE, optimize=True)
    print(f"wrote {PICTURE.relative_to(Path.cwd())}: {small.width}x{small.height}, {PICTURE.stat().st_size // 1000} kB")
    assert PICTURE.stat().st_size <= LARGEST_BYTES


if __name__ == "__main__":
    main()
