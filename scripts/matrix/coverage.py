"""Which opcodes the cases have of which element types, out of those that xlac takes."""

import pathlib
import re
import subprocess

from .types import RARE_FLOATS

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OPCODE = re.compile(r'^HLO_OP\(\w+, "([a-z0-9-]+)", (\w+), \w+, ([A-Z0-9_|]+),', re.MULTILINE)
TYPE = re.compile(r'^HLO_TYPE\(\w+, "(\w+)", \d+, (?!OTHER)', re.MULTILINE)
LINE = re.compile(r"^(\S+) = (\(.*?\)|\S+) ([a-z][a-z0-9-]*)\(([^)]*)\)")
ERROR = re.compile(r":(\d+):\d+: error:")
DATA = {"select": 1, "clamp": 1, "conditional": 1}  # the operand whose type it is, where that is not the first

# Of what is not elementwise, by x: KIND[2], m: KIND[2,2], s: KIND[], i: s32[], j: s32[1], p: pred[2], n: u64[2], t: KIND[1,2,1]; functions
# add, least (of two) and first (a pred of two).
PROBES = {
    "batch-norm-grad": "(KIND[1,2,1], KIND[2], KIND[2]) batch-norm-grad(t, x, x, x, t), epsilon=0.1, feature_index=1",
    "batch-norm-inference": "KIND[1,2,1] batch-norm-inference(t, x, x, x, x), epsilon=0.1, feature_index=1",
    "batch-norm-training": "(KIND[1,2,1], KIND[2], KIND[2]) batch-norm-training(t, x, x), epsilon=0.1, feature_index=1",
    "bitcast": "KIND[2] bitcast(x)", "bitcast-convert": "KIND[2] bitcast-convert(x)", "broadcast": "KIND[2,2] broadcast(x), dimensions={0}",
    "cholesky": "KIND[2,2] cholesky(m), lower=true", "compare": "pred[2] compare(x, x), direction=EQ",
    "concatenate": "KIND[4] concatenate(x, x), dimensions={0}", "convert": "c128[2] convert(x)",
    "convolution": "KIND[1,1,1] convolution(t, t), window={size=1}, dim_labels=bf0_oi0->bf0",
    "dot": "KIND[] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    "dynamic-slice": "KIND[1] dynamic-slice(x, i), dynamic_slice_sizes={1}", "dynamic-update-slice": "KIND[2] dynamic-update-slice(x, x, i)",
    "fft": "KIND[2] fft(x), fft_type=FFT, fft_length={2}",
    "gather": "KIND[1] gather(x, j), offset_dims={0}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=0, slice_sizes={1}",
    "iota": "KIND[2] iota(), iota_dimension=0", "map": "KIND[2] map(x, x), dimensions={0}, to_apply=add",
    "pad": "KIND[3] pad(x, s), padding=0_1", "reduce": "KIND[] reduce(x, s), dimensions={0}, to_apply=add",
    "reduce-precision": "KIND[2] reduce-precision(x), exponent_bits=3, mantissa_bits=2",
    "reduce-window": "KIND[1] reduce-window(x, s), window={size=2}, to_apply=add", "reshape": "KIND[1,2] reshape(x)",
    "reverse": "KIND[2] reverse(x), dimensions={0}", "rng-bit-generator": "(u64[2], KIND[2]) rng-bit-generator(n), algorithm=rng_default",
    "scatter": "KIND[2] scatter(x, j, y), update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, "
               "index_vector_dim=0, to_apply=add",
    "select": "KIND[2] select(p, x, x)",
    "select-and-scatter": "KIND[2] select-and-scatter(x, y, s), window={size=2}, select=first, scatter=add",
    "slice": "KIND[1] slice(x), slice={[0:1]}", "sort": "KIND[2] sort(x), dimensions={0}, to_apply=first",
    "topk": "(KIND[1], s32[1]) topk(x), k=1, largest=true", "transpose": "KIND[2,2] transpose(m), dimensions={1,0}",
    "triangular-solve": "KIND[2,2] triangular-solve(m, m), left_side=true, lower=true, transpose_a=NO_TRANSPOSE"}

MODULE = """HloModule probe

add {{
  a = {kind}[] parameter(0)
  b = {kind}[] parameter(1)
  ROOT r = {kind}[] add(a, b)
}}

first {{
  a = {kind}[] parameter(0)
  b = {kind}[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=EQ
}}

ENTRY e {{
  x = {kind}[2] parameter(0)
  y = {kind}[1] parameter(1)
  m = {kind}[2,2] parameter(2)
  t = {kind}[1,2,1] parameter(3)
  s = {kind}[] parameter(4)
  i = s32[] parameter(5)
  j = s32[1] parameter(6)
  p = pred[2] parameter(7)
  n = u64[2] parameter(8)
{lines}
  ROOT end = () tuple()
}}
"""

# Opcodes without a case, and why.  All of them stand in docs/coverage.md with what tests them.
WITHOUT_CASES = {
    "a value of any type in, the same out": "add-dependency after-all domain get-tuple-element opt-barrier parameter tuple",
    "every element type has its own test of literals, beside hlo/type": "constant",
    "of one device: values go through unchanged": "all-gather all-gather-done all-gather-start all-reduce all-reduce-done all-reduce-start "
    "all-to-all collective-broadcast collective-permute collective-permute-done collective-permute-start partition-id ragged-all-to-all "
    "reduce-scatter replica-id",
    "another form of an operation that has cases": "async-done async-start async-update call copy-done copy-start fusion",
    "what runs outside": "custom-call infeed outfeed recv recv-done send send-done",
    "moves values of any type between computations that have cases": "while conditional",
    "random numbers of its own": "rng rng-get-and-update-state stochastic-convert",
    "loops and dots that have cases": "ragged-dot scaled-dot scan",
    "sizes set at run time, of any type": "dynamic-reshape get-dimension-size set-dimension-size",
}

# (opcodes, types, why)
RARE = " ".join(RARE_FLOATS)
EXCEPTIONS = [
    ("clamp maximum minimum remainder topk select-and-scatter", "c64 c128", "complex numbers have no order: an error says so"),
    ("batch-norm-grad batch-norm-inference batch-norm-training", RARE, "expanded into operations that have cases of these types"),
    ("cholesky triangular-solve", f"f16 bf16 {RARE}", "expanded into operations that have cases of these types"),
    ("iota", "f8e8m0fnu", "it has no 0"),
    ("topk select-and-scatter", "pred", "two values are no order worth a case"),
    ("select-and-scatter", "f8e8m0fnu", "it has no 0 to begin a sum with"),
    ("rng-bit-generator", f"f64 f32 f16 bf16 {RARE} pred s1 s2 s4 u1 u2 u4 c64 c128", "bits are of plain integers in XLA"),
]


def opcodes():
    """(opcode, operands, whether it is elementwise)"""
    rows = OPCODE.findall((ROOT / "hlo" / "ir" / "hlo_opcode.def").read_text())
    return [(name, operands, "OP_ELEMENTWISE" in traits.split("|")) for name, operands, traits in rows]


def kinds():
    return TYPE.findall((ROOT / "hlo" / "type" / "primitive_type.def").read_text())


def element_type(shape):
    return None if shape.startswith("(") else shape.partition("[")[0]


def used(case):
    """{(opcode, type)} of the case's own instructions."""
    types = {f"@p{number}": parameter.kind for number, parameter in enumerate(case.parameters)}
    found = set()
    for line in case.lines:
        name, shape, opcode, operands = LINE.match(line).groups()
        types[name] = element_type(shape)
        names = operands.split(", ") if operands else [name]
        found.add((opcode, types[names[DATA.get(opcode, 0)]]))
        if opcode in ("convert", "bitcast-convert"):
            found.add((opcode, types[name]))
    if case.name.startswith("rng-bit-generator/"):
        found |= {("rng-bit-generator", result.kind) for result in case.results}
    return found


def probes():
    """(opcode, text) of those that have a type."""
    without = " ".join(WITHOUT_CASES.values()).split()
    for opcode, operands, is_elementwise in opcodes():
        if opcode in PROBES:
            yield opcode, PROBES[opcode]
        elif is_elementwise or opcode == "copy":
            yield opcode, f"{opcode}({', '.join(['x'] * int(operands))})"
        elif opcode not in without:
            raise ValueError(f"'{opcode}' has neither a probe nor a reason in WITHOUT_CASES")


def refused(xlac, folder, kind, rows):
    """Which of |rows| xlac has an error for."""
    lines = [f"  v{number} = {text.replace('KIND', kind)}" for number, (_, text) in enumerate(rows)]
    text = MODULE.format(kind=kind, lines="\n".join(lines))
    (folder / "probe.hlo").write_text(text)
    done = subprocess.run([xlac, "opt", "--passes=", folder / "probe.hlo"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    first = text.splitlines().index(lines[0]) + 1
    return {int(line) - first for line in ERROR.findall(done.stderr)}


def taken(xlac, folder):
    """{(opcode, type)} that xlac takes."""
    found = set()
    for kind in kinds():
        rows, bad = list(probes()), True
        while bad:  # some errors show when there are no others, and not all at once
            bad = refused(xlac, folder, kind, rows)
            rows = [row for number, row in enumerate(rows) if number not in bad]
        found |= {(opcode, kind) for opcode, _ in rows}
    return found


def missing(cases, xlac, folder):
    """Sorted (opcode, type) that have neither a case nor a reason; reasons that name nothing."""
    have = set().union(*map(used, cases))
    open_ = taken(xlac, folder) - have
    excused = {(opcode, kind): row for row in EXCEPTIONS for opcode in row[0].split() for kind in row[1].split()}
    useless = [pair for pair in excused if pair not in open_]
    return sorted(open_ - set(excused)), sorted(useless)
