"""Functions of complex numbers against Python's cmath and, where C's annex G fixes a special value, against that; both types, parts
given and taken apart by 'complex', 'real' and 'imag'."""

import cmath
import math
import pathlib
import random
import struct
import subprocess
import sys
import zipfile

from modules import processors, rounded, write_npz

INF, NAN = math.inf, math.nan
XLAC, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])

# opcode: (meaning, units in the last place of the larger part that results may be off)
UNARY = {
    "exponential": (cmath.exp, 4), "log": (cmath.log, 4), "sqrt": (cmath.sqrt, 4), "sine": (cmath.sin, 6), "cosine": (cmath.cos, 6),
    "tan": (cmath.tan, 8), "sinh": (cmath.sinh, 6), "cosh": (cmath.cosh, 6), "tanh": (cmath.tanh, 8), "asin": (cmath.asin, 8),
    "acos": (cmath.acos, 8), "asinh": (cmath.asinh, 8), "acosh": (cmath.acosh, 8), "atanh": (cmath.atanh, 8),
    "rsqrt": (lambda z: 1 / cmath.sqrt(z), 6), "negate": (lambda z: -z, 0),
    # Where 1 + z is exact, and where e^z is nothing beside 1.
    "log-plus-one": (lambda z: cmath.log(1 + z) if -2 <= z.real <= -0.5 else None, 4),
    "logistic": (lambda z: cmath.exp(z) if z.real < -40 else None, 6),
}

# What must come out exactly; NaN stands for any NaN.
SPECIAL = {
    "exponential": [((-INF, INF), (0.0, 0.0)), ((-INF, NAN), (0.0, 0.0)), ((INF, 0.0), (INF, 0.0)), ((NAN, 0.0), (NAN, 0.0)),
                    ((INF, 1.0), (INF, INF)), ((1.0, INF), (NAN, NAN)), ((-INF, 1.0), (0.0, 0.0))],
    "log": [((0.0, 0.0), (-INF, 0.0)), ((INF, NAN), (INF, NAN)), ((NAN, -INF), (INF, NAN)), ((-INF, 1.0), (INF, math.pi)),
            ((1.0, 0.0), (0.0, 0.0))],
    "sqrt": [((0.0, -0.0), (0.0, -0.0)), ((-4.0, 0.0), (0.0, 2.0)), ((-4.0, -0.0), (0.0, -2.0)), ((NAN, INF), (INF, INF)),
             ((-INF, 1.0), (0.0, INF)), ((INF, -1.0), (INF, -0.0)), ((1.0, INF), (INF, INF)), ((-3.0, 4.0), (1.0, 2.0))],
    "tanh": [((INF, 1.0), (1.0, 0.0)), ((-INF, 2.0), (-1.0, 0.0)), ((1e5, 1.0), (1.0, 0.0)), ((0.0, -0.0), (0.0, -0.0))],
    "sign": [((0.0, -0.0), (0.0, -0.0)), ((3.0, 0.0), (1.0, 0.0)), ((0.0, -1e-30), (0.0, -1.0))],
    "cosh": [((INF, 0.0), (INF, 0.0)), ((-INF, 0.0), (INF, -0.0))],
    "asin": [((INF, 1.0), (math.pi / 2, INF)), ((1.0, -INF), (0.0, -INF)), ((INF, INF), (math.pi / 4, INF))],
    "atanh": [((INF, 1.0), (0.0, math.pi / 2)), ((-1.0, -INF), (-0.0, -math.pi / 2))],
}

# (a, b, a / b)
QUOTIENTS = [((1.0, 2.0), (0.0, 0.0), (INF, INF)), ((1.0, -2.0), (-0.0, 0.0), (-INF, INF)), ((0.0, 0.0), (0.0, 0.0), (NAN, NAN)),
             ((INF, 1.0), (2.0, 0.0), (INF, NAN)), ((INF, INF), (1.0, 1.0), (INF, NAN)), ((1.0, 1.0), (INF, 1.0), (0.0, 0.0)),
             ((1.0, 1.0), (INF, -INF), (0.0, 0.0)), ((4.0, 2.0), (1.0, 1.0), (3.0, -1.0)), ((1.0, 0.0), (0.0, 4.0), (0.0, -0.25)),
             ((-6.0, 8.0), (2.0, 0.0), (-3.0, 4.0))]


def points(kind):
    """Both signs of sizes of every kind, and the neighbourhood of the unit circle, where logarithms are small."""
    sizes = [0.0, 1e-8, 0.3, 1.0, 2.5, 30.0, 1e4] + ([1e19, 1e-19] if kind == "f32" else [1e170, 1e-170])
    parts = [rounded(kind, sign * size) for size in sizes for sign in (1, -1)]
    circle = [(rounded(kind, math.cos(a)), rounded(kind, math.sin(a))) for a in (0.1, 1.0, 2.0, -0.01, 3.1)]
    beside = [(rounded(kind, x), rounded(kind, y)) for x, y in ((-1, 2.0 ** -30), (-1.0000001, -0.00017), (-0.75, 1e-9), (-1.3, 0.5), (-2, 1))]
    small = [(rounded(kind, x), 0.25) for x in ((-60, -87) if kind == "f32" else (-60, -705, -712))]
    return [(x, y) for x in parts for y in parts] + circle + beside + small


def read(path):
    with zipfile.ZipFile(path) as archive:
        arrays = []
        for number in range(len(archive.namelist())):
            data = archive.read(f"r{number}.npy")
            (length,) = struct.unpack_from("<H", data, 8)
            form = "d" if b"<f8" in data[:10 + length] else "f"
            arrays.append([value for (value,) in struct.iter_unpack("<" + form, data[10 + length:])])
        return arrays


def run(kind, lines, results, arguments, targets=()):
    """The real results of a module with the vectors |arguments| of parts, on the host's processors and on |targets|."""
    folder = FOLDER / kind
    folder.mkdir(parents=True, exist_ok=True)
    count = len(arguments[0])
    body = "".join(f"  x{i} = {kind}[{count}] parameter({i})\n" for i in range(len(arguments))) + "".join(f"  {line}\n" for line in lines)
    shapes = ", ".join(f"{kind}[{count}]" for _ in results)
    (folder / "m.hlo").write_text(f"HloModule m\n\nENTRY e {{\n{body}  ROOT r = ({shapes}) tuple({', '.join(results)})\n}}\n")
    write_npz(folder / "in.npz", "p", [(kind, [count], values) for values in arguments])
    for options in [*processors(), *([f"--target={target}"] for target in targets)]:
        subprocess.run([XLAC, "run", *options, "--inputs=in.npz", "--output=out.npz", "m.hlo"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        yield options, read(folder / "out.npz")


def same(want, got):
    return math.isnan(want) and math.isnan(got) or want == got and math.copysign(1, want) == math.copysign(1, got)


def near(kind, want, got, units):
    if same(want.real, got.real) and same(want.imag, got.imag):
        return True
    largest = 3.4028234663852886e38 if kind == "f32" else sys.float_info.max
    unit = 2.0 ** (-23 if kind == "f32" else -52) * max(abs(want.real), abs(want.imag), 1e-37 if kind == "f32" else 1e-307)
    return all(abs(a - b) <= units * unit or math.isinf(b) and abs(a) > largest * 0.999999 and a * b > 0
               for a, b in ((want.real, got.real), (want.imag, got.imag)))


def expected(meaning, z):
    """None where cmath has no answer."""
    try:
        return meaning(z)
    except (ValueError, OverflowError, ZeroDivisionError):
        return None


def unary(kind, complex_kind):
    grid = points(kind)
    special = {repr(argument): argument for rows in SPECIAL.values() for argument, _ in rows}  # -0 is not 0
    arguments = [list(parts) for parts in zip(*grid, *special.values())]
    count = len(arguments[0])
    opcodes = sorted(set(UNARY) | set(SPECIAL))
    lines, results = [f"z = {complex_kind}[{count}] complex(x0, x1)"], []
    for opcode in opcodes:
        name = opcode.replace("-", "_")
        lines += [f"{name} = {complex_kind}[{count}] {opcode}(z)", f"{name}_re = {kind}[{count}] real({name})",
                  f"{name}_im = {kind}[{count}] imag({name})"]
        results += [f"{name}_re", f"{name}_im"]
    for options, arrays in run(kind, lines, results, arguments):
        for number, opcode in enumerate(opcodes):
            re, im = arrays[2 * number:2 * number + 2]
            meaning, units = UNARY.get(opcode, (lambda z: None, 0))
            for i, point in enumerate(grid):
                want, got = expected(meaning, complex(*point)), complex(re[i], im[i])
                assert want is None or near(kind, want, got, units), (options, kind, opcode, point, want, got)
            for argument, wanted in SPECIAL.get(opcode, []):
                i = len(grid) + list(special).index(repr(argument))
                fits = all(same(a, b) or not math.isinf(a) and abs(a - b) < 1e-6 and a != 0 for a, b in zip(wanted, (re[i], im[i])))
                assert fits, (options, kind, opcode, argument, wanted, (re[i], im[i]))


def sizes(kind, complex_kind):
    """abs neither overflows nor vanishes before its result does, also where it is not computed in f64."""
    least, largest = (2.0 ** -149, 2.0 ** 127) if kind == "f32" else (2.0 ** -1074, 2.0 ** 1023)
    grid = points(kind) + [(INF, NAN), (NAN, -INF), (NAN, 1.0), (3 * least, -4 * least), (least, 0.0), (largest, largest / 2), (largest, least)]
    draws = random.Random(1)  # roots that are hardly off are rounded the other way once in some hundred numbers
    grid += [(rounded(kind, draws.uniform(-1, 1)), rounded(kind, draws.uniform(-1, 1))) for _ in range(4096)]
    arguments = [list(parts) for parts in zip(*grid)]
    lines = [f"z = {complex_kind}[{len(grid)}] complex(x0, x1)", f"size = {kind}[{len(grid)}] abs(z)"]
    for options, (found,) in run(kind, lines, ["size"], arguments, ["vp-ref"]):
        for point, got in zip(grid, found):
            want = math.hypot(*point)
            assert same(want, got) or abs(want - got) <= 2 * 2.0 ** (-23 if kind == "f32" else -52) * want, (options, kind, point, want, got)
            if kind == "f32" and options != ["--target=vp-ref"] and math.isfinite(got):  # of f64, rounded once
                assert got == rounded(kind, want), (options, point, want, got)


def quotients(kind, complex_kind):
    grid = [(a, b) for a in points(kind)[::5] for b in points(kind)[3::7] if abs(complex(*b)) > 0]
    pairs = grid + [(a, b) for a, b, _ in QUOTIENTS]
    arguments = [[pair[side][part] for pair in pairs] for side in (0, 1) for part in (0, 1)]
    count = len(pairs)
    lines = [f"a = {complex_kind}[{count}] complex(x0, x1)", f"b = {complex_kind}[{count}] complex(x2, x3)",
             f"q = {complex_kind}[{count}] divide(a, b)", f"re = {kind}[{count}] real(q)", f"im = {kind}[{count}] imag(q)"]
    for options, (re, im) in run(kind, lines, ["re", "im"], arguments):
        for (a, b), got in zip(grid, map(complex, re, im)):
            want = complex(*a) / complex(*b)
            largest = 3.4e38 if kind == "f32" else 1.7e308
            if max(abs(want.real), abs(want.imag)) < largest:
                assert near(kind, want, got, 4), (options, kind, a, b, want, got)
        for (a, b, want), got in zip(QUOTIENTS, list(zip(re, im))[len(grid):]):
            # an infinite part makes the number so, whatever the other one
            fits = math.inf in map(abs, got) if math.inf in map(abs, want) else all(x == y or x != x and y != y for x, y in zip(want, got))
            assert fits, (options, kind, a, b, want, got)


for part, whole in (("f32", "c64"), ("f64", "c128")):
    unary(part, whole)
    sizes(part, whole)
    quotients(part, whole)
