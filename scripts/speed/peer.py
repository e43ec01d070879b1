"""What the peers of scripts/bench have in common.

A peer is a process: it reads a JSON object a line and answers each with one.  {"module", "name", "inputs", "threads"} loads a workload,
{"seconds", "most"} runs it for so long or so often and answers {"least"}, seconds of its fastest run; {"error"} where something failed.
"""

import json
import os
import sys
import time

# A heap that is kept: without it each result is made of fresh pages, which takes longer than most kernels that write them.  And in large pages, as NumPy
# and xlac run have their arrays.
KEPT_HEAP = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(256 << 20),
             "MALLOC_ARENA_MAX": "1"}


def environment(threads):
    """What a peer with so many threads is started with."""
    count = str(threads)
    return {**os.environ, **KEPT_HEAP, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3", "NPROC": count, "PJRT_NPROC": count,
            "OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count}


def timed(prepare, run, seconds, most):
    least, start, number = float("inf"), time.perf_counter(), 0
    while number < most and (number < 2 or time.perf_counter() - start < seconds):
        prepare()
        begin = time.perf_counter()
        run()
        least, number = min(least, time.perf_counter() - begin), number + 1
    return least


def serve(load):
    """|load| makes of a request (what to answer, what to do before each run, the run)."""
    workload = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "module" in request:
                workload = None
                answer, *workload = load(request)
                timed(*workload, 0, 2)
            else:
                answer = {"least": timed(*workload, request["seconds"], request["most"])}
        except Exception as error:
            answer = {"error": (str(error).strip() or repr(error)).splitlines()[0][:120]}
        print(json.dumps(answer), flush=True)
