"""The largest and the smallest of rows, over rows that end at, before and after a register's last lane, and of everything.

Some rows have one number that is none, at every place of a row in turn, with either sign; some have nothing but zeros of both signs, which are told
apart by dividing 1 by what comes out; some are infinite."""

import math
import random

from modules import Module, rounded

COMBINERS = "".join(f"""
{op}_{kind} {{
  a = {kind}[] parameter(0)
  b = {kind}[] parameter(1)
  ROOT c = {kind}[] {op}(a, b)
}}
""" for op in ("maximum", "minimum") for kind in ("f32", "f64", "bf16", "f16"))
random.seed(3)


def row_values(kind, row, columns):
    values = [rounded(kind, random.randint(-50, 50) / 4) for _ in range(columns)]
    if row % 4 == 1:
        values[row // 4 % columns] = math.copysign(math.nan, -1 if row % 8 == 1 else 1)
    if row % 16 == 2:
        values = [math.copysign(0.0, random.choice([-1, 1])) for _ in values]
    if row % 16 == 6:
        values = [[-math.inf, math.inf][row // 16 % 2]] * columns
    return values


def extremum(op, values):
    """NaN where any is; -0 is below 0."""
    if any(map(math.isnan, values)):
        return math.nan
    return (max if op == "maximum" else min)(values, key=lambda value: (value, math.copysign(1, value)))


def inverse(value):
    return math.copysign(math.inf, value) if value == 0 else 1 / value


def fold(module, kind, op, shape, values, dims):
    block = module.parameter(kind, shape, sum(values, []))
    start = module.op(kind, [], "constant(-inf)" if op == "maximum" else "constant(inf)")
    kept = [extent for d, extent in enumerate(shape) if d not in dims]
    name = module.op(kind, kept, f"reduce({block}, {start}), dimensions={{{','.join(map(str, dims))}}}, to_apply={op}_{kind}")
    wanted = [extremum(op, row) for row in values] if kept else [extremum(op, sum(values, []))]
    module.result(name, kind, kept, wanted)
    one = module.op(kind, [], "constant(1)")
    ones = module.op(kind, kept, f"broadcast({one}), dimensions={{}}") if kept else one
    module.result(module.op(kind, kept, f"divide({ones}, {name})"), kind, kept, [rounded(kind, inverse(value)) for value in wanted])


module = Module("extrema_of_rows", COMBINERS)
for op in ("maximum", "minimum"):
    for kind, shape in (("f32", (600, 128)), ("f32", (64, 16)), ("f32", (200, 33)), ("f32", (300, 67)), ("f32", (96, 1000)), ("f64", (300, 70)),
                        ("f64", (33, 8)), ("f64", (40, 515)), ("bf16", (200, 48)), ("f16", (200, 40))):
        fold(module, kind, op, list(shape), [row_values(kind, row, shape[1]) for row in range(shape[0])], [1])
    for kind in ("f32", "f64"):
        for row, columns in ((1, 5000), (4 * 4990 + 1, 5000), (2, 5000), (3, 4097)):
            fold(module, kind, op, [columns], [row_values(kind, row, columns)], [0])
module.run(threads=(1, 2))
