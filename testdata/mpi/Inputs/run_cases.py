"""Runs the cases of a folder by `xlac run` under a launcher of MPI, each with its number of devices: run_cases.py XLAC MPI_RUN MPI FOLDER.

Prints those whose results are not as expected, with what was said, and exits 1 when there is one."""

import json
import pathlib
import subprocess
import sys

xlac, mpi_run, mpi, folder = sys.argv[1:]
wrong = 0
for case in sorted(pathlib.Path(folder).iterdir()):
    meta = json.loads((case / "meta.json").read_text())
    devices = meta["num_partitions"] * meta.get("num_replicas", 1)
    command = [mpi_run, mpi, str(devices), xlac, "run", "-q", "--num-threads=1", f"--meta={case / 'meta.json'}",
               f"--expect={case / 'expected.npz'}", str(case / "module.hlo")]
    job = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    if job.returncode != 0:
        wrong += 1
        print(" ".join(command), job.stdout.decode(errors="replace"), sep="\n")
sys.exit(1 if wrong else 0)
