"""Runs the cases of a folder by `xlac run` under a launcher of MPI, each with its number of devices: run_cases.py XLAC MPI_RUN MPI FOLDER.

Prints those whose results are not as expected, with what was said, and exits 1 when there is one."""

import json
import pathlib
import subprocess
import sys

xlac, mpi_run, mpi, folder = sys.argv[1:]
wrong = 0
for case in sorted(path.parent for path in pathlib.Path(folder).glob("*/meta.json")):
    meta = json.loads((case / "meta.json").read_text())
    devices = meta["num_partitions"] * meta.get("num_replicas", 1)
    for module in sorted(case.glob("*.hlo")):  # divided by XLA's partitioner, whole
        command = [mpi_run, mpi, str(devices), xlac, "run", "-q", "--num-threads=1", f"--partitions={devices}",
                   f"--meta={case / 'meta.json'}", f"--expect={case / 'expected.npz'}", str(module)]
        job = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        if job.returncode != 0:
            wrong += 1
            print(" ".join(command), job.stdout.decode(errors="replace"), sep="\n")
sys.exit(1 if wrong else 0)
