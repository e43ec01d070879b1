"""Printed plans read back as themselves, and are proved.

  round_trip.py XLAC FOLDER MODULE...
"""

import os
import subprocess
import sys


def main():
    xlac, folder, *modules = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    first, second = os.path.join(folder, "first.vplan"), os.path.join(folder, "second.vplan")
    count = 0
    for target in (["--target=vp-tiny"], ["--target=vp-ref"], ["--target=vtcm4m", "--buffer-size=8192"]):
        for module in modules:
            compile_ = [xlac, *target, "--emit=none", module]
            subprocess.run(compile_ + ["--dump-plan=" + first], check=True)
            subprocess.run(compile_ + ["--plan=" + first, "--dump-plan=" + second], check=True)
            if open(first).read() != open(second).read():
                sys.exit(f"{module}, {' '.join(target)}: the plans differ")
            count += open(first).read().count("\nscope ")
    print(f"{count} plans")


main()
