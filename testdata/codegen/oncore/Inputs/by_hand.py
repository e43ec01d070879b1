"""Plans by hand against xlac's own: by_hand.py XLAC FOLDER.

Each FOLDER/NAME.vplan is a plan for vp-ref of the one kernel of FOLDER/NAME.hlo.  It has to be right, xlac's own may not be slower by more than 2 %, and it
may not be slower than xlac's own by more than 2 % either: one that is says nothing.
"""

import pathlib
import re
import subprocess
import sys

CLOSE = 1.02


def main():
    xlac, folder = sys.argv[1:]
    plans, bad = sorted(pathlib.Path(folder).glob("*.vplan")), 0
    for plan in plans:
        command = [xlac, "check-plan", "--target=vp-ref", str(plan.with_suffix(".hlo")), str(plan)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        found = re.search(r" 0 races, 0 faults; (\d+) cycles, .* xlac's own plan takes (\d+) cycles", done.stdout)
        if done.returncode != 0 or not found:
            sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        by_hand, own = map(int, found.groups())
        word = "slower" if own > CLOSE * by_hand else "faster" if by_hand > CLOSE * own else "as fast"
        bad += word != "as fast"
        print(f"{plan.stem:20} by hand {by_hand:10} own {own:10} {own / by_hand:6.3f} {word}")
    return 1 if bad or len(plans) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
