"""Every prefix of some modules, in steps, through a command of xlac: never a crash, never an output file after a failure.

  prefixes.py XLAC FOLDER STEP check|compile MODULE...

check: `xlac check`.  compile: the whole way to an object.  Exit statuses 0 and 1 are right, all else is not.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

TIMEOUT = 120


def attempt(xlac, folder, command, module, text):
    """An error as text, or None."""
    name = f"{module.parent.name if module.stem == 'module' else module.stem}.{len(text)}"
    given, made = folder / f"{name}.hlo", folder / f"{name}.o"
    given.write_bytes(text)
    words = [xlac, "check", str(given)] if command == "check" else [xlac, "--mcpu=x86-64", str(given), "-o", str(made)]
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return f"{' '.join(words)}: more than {TIMEOUT} s"
    left = sorted(path.name for path in folder.glob(f"*{name}.*") if path != given)
    error = None
    if done.returncode not in (0, 1):
        error = f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout.decode(errors='replace')[-2000:]}"
    elif done.returncode == 1 and (left or b"error:" not in done.stdout):
        error = f"{' '.join(words)}: failed and left {left or 'no message'}"
    elif done.returncode == 0 and command == "compile" and f"{name}.o" not in left:
        error = f"{' '.join(words)}: no object"
    if error is None:
        for path in [given, *(folder / entry for entry in left)]:
            path.unlink()
    return error


def main():
    xlac, folder, step, command = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    folder.mkdir(parents=True, exist_ok=True)
    jobs = []
    for module in map(pathlib.Path, sys.argv[5:]):
        text = module.read_bytes()
        jobs += [(xlac, folder, command, module, text[:end]) for end in range(0, len(text) + step, step)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        errors = [error for error in pool.map(lambda job: attempt(*job), jobs) if error is not None]
    print("\n".join(errors[:10]))
    sys.exit(f"{len(errors)} of {len(jobs)} prefixes" if errors else 0)


if __name__ == "__main__":
    main()
