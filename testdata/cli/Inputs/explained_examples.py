"""Checks the modules among the examples of --explain: PROGRAM PAGES FOLDER.

Each is written to FOLDER and given to 'check'; the page's code, or one of its family, must be among those of the messages.
"""

import json
import pathlib
import re
import subprocess
import sys


def main():
    program, pages, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    count = wrong = 0
    for code in re.findall(r'^XLAC_DIAGNOSTIC\("([^"]+)"', pages.read_text(), re.MULTILINE):
        asked = code.replace("*", "add")
        page = subprocess.run([program, f"--explain={asked}"], capture_output=True, text=True, check=True).stdout
        found = re.search(r"\n\nAn example:\n\n(    HloModule .*?)\n\nWhat to do: ", page, re.DOTALL)
        if not found:
            continue
        count += 1
        path = folder / f"{asked}.hlo"
        path.write_text("".join(line[4:] + "\n" for line in found[1].splitlines()))
        run = subprocess.run([program, "check", "--diagnostics-format=json", path], capture_output=True, text=True)
        codes = [json.loads(line)["code"] for line in run.stderr.splitlines()]
        if not any(said == code or said.startswith(code.rstrip("*") if code.endswith("*") else "\n") for said in codes):
            wrong += 1
            print(f"{code}: {codes}")
    print(f"{count} examples, {wrong} wrong")


main()
