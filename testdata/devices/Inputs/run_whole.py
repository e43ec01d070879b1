#!/usr/bin/env python3
"""Runs whole.hlo of every case on as many devices as its meta.json says, and compares with the results of one device.

  run_whole.py XLAC FOLDER DEVICES COMMAND...

DEVICES is "own", or a number: then only texts without manual regions run, whose shapes would be those of another number.
COMMAND is what stands before the options, with {xlac} for the binary and {devices} for their number: "{xlac} run --engine=local", or a launcher of processes.
"""
import json
import pathlib
import re
import subprocess
import sys

xlac, folder, number, command = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
failed = 0
cases = [path for path in sorted(folder.glob("*/whole.hlo"))
         if number == "own" or not re.search("LocalToGlobalShape|ShardToFullShape", path.read_text())]
for module in cases:
    devices = number
    if number == "own":
        devices = str(json.loads((module.parent / "meta.json").read_text())["num_partitions"])
    words = [word.replace("{xlac}", xlac).replace("{devices}", devices) for word in command]
    run = subprocess.run([*words, "-q", f"--partitions={devices}", f"--meta={module.parent}/meta.json",
                          f"--expect={module.parent}/expected.npz", str(module)], capture_output=True, text=True)
    if run.returncode != 0:
        failed += 1
        print(module, run.stdout[-600:], run.stderr[-600:])
print(len(cases), "cases,", failed, "wrong")
