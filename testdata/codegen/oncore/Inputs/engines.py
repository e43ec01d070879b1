"""Runs a module on vector processors with every engine, and on variants of vp-tiny (VARIANTS).

  engines.py XLAC MODULE.hlo FOLDER [RTOL [ATOL]]

Results must be within RTOL and ATOL (1e-5 each) of the evaluator's and have the same bits whatever the engine and the order of commands; the
simulator must find no hazard and no redundant edge.
"""

import pathlib
import re
import subprocess
import sys

VARIANTS = {
    "twice": lambda text: re.sub(r"\[queue (\w+)\](.*\n)", r"[queue \1]\2[queue \g<1>2]\2", text),
    "unordered": lambda text: text.replace("complete=inorder", "complete=unordered"),
    "one_queue": lambda text: re.sub(r"\[queue ST\].*\n", "", re.sub(r"kind=load", "kind=move", text)),
    "one_flag": lambda text: re.sub(r"kind=counter ids=0", "kind=flag ids=1", text),
}
ENGINES = [["run"], ["threads"], ["threads"], ["sim", "--orders=5", "--stats"]]


def run(arguments):
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr


def check_totals(text, what):
    """The columns redundant and races of the simulator's line for all kernels."""
    words = next((line.split() for line in text.splitlines() if line.endswith(" all")), [])
    if words[-3:] != ["0", "0", "all"] or int(words[0]) == 0:
        sys.exit(f"{what}: {text}")


def make_variants(xlac, folder):
    """Descriptions of the machines VARIANTS, as files."""
    text = subprocess.run([xlac, "--print-targets", "--target=vp-tiny"], stdout=subprocess.PIPE, check=True, text=True).stdout
    for name, vary in VARIANTS.items():
        varied = vary(text)
        if varied == text:
            sys.exit(f"{name} is vp-tiny")
        (folder / f"{name}.vpt").write_text(varied)
    return [f"{folder}/{name}.vpt" for name in VARIANTS]


def main():
    xlac, module, folder = sys.argv[1:4]
    rtol = sys.argv[4] if len(sys.argv) > 4 else "1e-5"
    atol = sys.argv[5] if len(sys.argv) > 5 else "1e-5"
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    expected = folder / "expected.npz"
    run([xlac, "run", "--engine=interpret", "--seed=7", f"--output={expected}", module])
    for target in ["vp-tiny", "vp-ref", *make_variants(xlac, folder)]:
        first = None
        for engine, *options in ENGINES:
            output = folder / f"{pathlib.Path(target).name}.{engine}.npz"
            command = [xlac, "run", "--seed=7", f"--target={target}", f"--engine={engine}", *options]
            text = run([*command, f"--output={output}", f"--expect={expected}", f"--rtol={rtol}", f"--atol={atol}", module])
            if engine == "sim":
                check_totals(text, f"{target}: the simulator's totals")
            first = first or output.read_bytes()
            if output.read_bytes() != first:
                sys.exit(f"{target}: --engine={engine} gives other bits than --engine=run")


main()
