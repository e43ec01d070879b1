#!/usr/bin/env python3
"""Says how far each opcode is supported: writes docs/coverage.md from hlo/ir/hlo_opcode.def and testdata.

  scripts/op_coverage.py [--check]

--check: only says whether the file is up to date (exit 1 if not).
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "hlo" / "ir" / "hlo_opcode.def"
PASSES = ROOT / "passes" / "pipeline" / "pass_registry.def"
TESTDATA = ROOT / "testdata"
TARGET = ROOT / "docs" / "coverage.md"

# Opcodes that never reach code generation, because a pass of the standard pipeline rewrites them.
REWRITTEN = {
    "async-start": "async-to-sync", "async-update": "async-to-sync", "async-done": "async-to-sync",
    "copy-start": "async-to-sync", "copy-done": "async-to-sync",
    "batch-norm-grad": "batch-norm-expander", "batch-norm-inference": "batch-norm-expander",
    "batch-norm-training": "batch-norm-expander",
    "all-gather-start": "async-to-sync", "all-gather-done": "async-to-sync",
    "all-reduce-start": "async-to-sync", "all-reduce-done": "async-to-sync",
    "send-done": "async-to-sync", "recv-done": "async-to-sync",
    "collective-permute-start": "async-to-sync", "collective-permute-done": "async-to-sync",
    "all-gather": "collective-expander", "all-reduce": "collective-expander", "all-to-all": "collective-expander",
    "collective-broadcast": "collective-expander", "collective-permute": "collective-expander",
    "ragged-all-to-all": "collective-expander",
    "partition-id": "collective-expander", "reduce-scatter": "collective-expander", "replica-id": "collective-expander",
    "cholesky": "linear-algebra-expander", "triangular-solve": "linear-algebra-expander",
    "scan": "scan-expander", "topk": "topk-expander",
    "ragged-dot": "dot-expander", "scaled-dot": "dot-expander",
    "rng": "random-expander", "rng-bit-generator": "random-expander", "stochastic-convert": "random-expander",
    "fft": "fft-expander", "get-dimension-size": "dimension-size-expander", "set-dimension-size": "dynamic-size-expander",
    "dynamic-reshape": "dynamic-size-expander",
}

# Why a column says "–": for every such opcode, and for no other.
WHY = {}

COLUMNS = re.compile(r"^ \* HLO_OP\((.*)\)$", re.MULTILINE)
ROW = re.compile(r"^HLO_OP\((.*)\)$", re.MULTILINE)
QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"')
CALL = re.compile(r"[\s)\]}]([a-z][a-z0-9-]*)\(")
ASYNC = re.compile(r"^[a-z-]+(-start|-update|-done)$")  # call-start is an async-start
RUNS = re.compile(r"^(?://\s*)?RUN:.*%xlac\s+run\b|^(?://\s*)?RUN:.*%run\b", re.MULTILINE)

INTRO = """# Coverage of opcodes

Made by `scripts/op_coverage.py` from `hlo/ir/hlo_opcode.def` and `testdata`.

- **parse**: read and printed; **infer**: shape inferred, and checked by the verifier. Both cover every opcode of the table.
- **evaluate**: the reference evaluator `hlo/eval` has a rule.
- **emit**: compiled to machine code. *pass*: the pass named rewrites it into opcodes that are. Not every element type has code:
  for what has none there is an error that names the line (`unsupported-op`, `unsupported-type`, `unsupported-rank`).
- **tested**: *cases*: occurs in a module of `testdata/cases/EXPECTED`, whose results are compared with XLA's; *text*: in a text test
  that runs it; *source*: by a module that a test program generates (`testdata/codegen/run`).

"""


def table_rows():
    """One dict per opcode, by the column names that the table's own comment gives."""
    text = TABLE.read_text()
    names = [name.strip() for name in COLUMNS.search(text)[1].split(",")]
    for line in ROW.findall(text):
        yield dict(zip(names, (field.strip() for field in line.split(",", len(names) - 1))))


def opcodes_in(paths, known):
    found = set()
    for path in paths:
        for word in CALL.findall(QUOTED.sub('""', path.read_text(errors="replace"))):
            found.add(word if word in known else ASYNC.sub(r"async\1", word))
    return found & known


def tested_opcodes(known):
    """Opcode → where it is tested, the strongest first."""
    cases = TESTDATA / "cases"
    lines = (cases / "EXPECTED").read_text().splitlines()
    names = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    texts = [path for path in sorted(TESTDATA.rglob("*"))
             if path.suffix in (".hlo", ".test") and cases not in path.parents and RUNS.search(path.read_text(errors="replace"))]
    places = {"source": sorted((TESTDATA / "codegen" / "run").rglob("*.py")), "text": texts,
              "cases": [cases / name / "module.hlo" for name in names if (cases / name / "module.hlo").is_file()]}
    tested = {}
    for place, paths in places.items():
        tested.update(dict.fromkeys(opcodes_in(paths, known), place))
    return tested


def rules(column):
    """The functions of hlo/infer or hlo/eval that the table's column of that name can name."""
    sources = [path.read_text() for path in sorted((ROOT / "hlo" / column).glob("*.c"))]
    return {name for source in sources for name in re.findall(rf"^[A-Za-z].*\b{column}_(\w+)\(", source, re.MULTILINE)}


def emit_cell(row, opcode, passes):
    if row["emit"] != "unsupported":
        return "yes"
    rewriter = REWRITTEN.get(opcode)
    return f"pass `{rewriter}`" if rewriter in passes else "–"


def coverage():
    rows = list(table_rows())
    opcodes = [row["text"].strip('"') for row in rows]
    passes = {name.replace("_", "-") for name in re.findall(r"^HLO_PASS\(hlo_(\w+)_pass\)", PASSES.read_text(), re.MULTILINE)}
    tested = tested_opcodes(set(opcodes))
    infer, evaluate = rules("infer"), rules("eval")
    lines, counts = [], {"evaluate": 0, "emit": 0, "tested": 0}
    for row, opcode in zip(rows, opcodes):
        cells = {"evaluate": "yes" if row.get("eval") in evaluate else "–", "emit": emit_cell(row, opcode, passes), "tested": tested.get(opcode, "–")}
        for column, cell in cells.items():
            counts[column] += cell != "–"
        lines.append(f"| `{opcode}` | yes | {'yes' if row['infer'] in infer else '–'} | {' | '.join(cells.values())} |")
    holes = {line.split("`")[1] for line in lines if "–" in line}
    if holes != set(WHY):
        sys.exit(f"op_coverage: WHY has to name {', '.join(sorted(holes))}")
    reasons = "".join(f"- `{opcode}`: {WHY[opcode]}.\n" for opcode in sorted(WHY)) or "Nothing.\n"
    summary = (f"{len(rows)} opcodes: {counts['evaluate']} evaluated, {counts['emit']} compiled, {counts['tested']} tested by running.\n\n"
               "| opcode | parse | infer | evaluate | emit | tested |\n|---|---|---|---|---|---|\n")
    return INTRO + summary + "\n".join(lines) + "\n\n## What is missing, and why\n\n" + reasons


def main():
    text = coverage()
    if sys.argv[1:] == ["--check"]:
        if TARGET.is_file() and TARGET.read_text() == text:
            return 0
        print(f"{TARGET.relative_to(ROOT)} is not up to date: run scripts/op_coverage.py")
        return 1
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
