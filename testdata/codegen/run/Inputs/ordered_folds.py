"""Folds along rows by combiners of which nothing is known, so that the order counts: numbers in base 3, and the first largest element
with its place, where one that is not a number counts as the largest."""

import math

from modules import Module, wrapped

DIGITS = """digits_{kind} {{
  a = {kind}[] parameter(0)
  b = {kind}[] parameter(1)
  c = {kind}[] constant(3)
  d = {kind}[] multiply(a, c)
  ROOT r = {kind}[] add(d, b)
}}
"""
LARGEST = """largest {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  above = pred[] compare(a, b), direction=GT
  odd = pred[] compare(a, a), direction=NE
  first = pred[] or(above, odd)
  equal = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  both = pred[] and(equal, before)
  stays = pred[] or(first, both)
  value = f32[] select(first, a, b)
  place = s32[] select(stays, i, j)
  ROOT r = (f32[], s32[]) tuple(value, place)
}
"""
KINDS = ("s8", "s16", "s32", "s64")

module = Module("ordered_folds", "".join(DIGITS.format(kind=kind) for kind in KINDS) + LARGEST)


def row_values(kind, count, row):
    return [wrapped(kind, 7 * i + 11 * row) for i in range(count)]


def number(kind, values):
    total = 0
    for value in values:
        total = wrapped(kind, 3 * total + value)
    return total


for kind in KINDS:
    for rows, columns in ((16, 16), (37, 40), (64, 100), (5, 33)):
        table = [row_values(kind, columns, r) for r in range(rows)]
        block, zero = module.parameter(kind, [rows, columns], sum(table, [])), module.op(kind, [], "constant(0)")
        folded = module.op(kind, [rows], f"reduce({block}, {zero}), dimensions={{1}}, to_apply=digits_{kind}")
        module.result(folded, kind, [rows], [number(kind, values) for values in table])
        # of three dims, the middle one kept: rows are the same numbers again
        cube, zero = module.parameter(kind, [2, rows, columns], sum(table, []) * 2), module.op(kind, [], "constant(0)")
        folded = module.op(kind, [rows], f"reduce({cube}, {zero}), dimensions={{0,2}}, to_apply=digits_{kind}")
        module.result(folded, kind, [rows], [number(kind, values * 2) for values in table])

for rows, columns in ((32, 75), (19, 64)):
    table = [[float(7 * (i + r) % 31) for i in range(columns)] for r in range(rows)]
    table[3][50] = table[3][40] = math.nan
    table[4] = [-math.inf] * columns
    block, least = module.parameter("f32", [rows, columns], sum(table, [])), module.op("f32", [], "constant(-inf)")
    positions, zero = module.op("s32", [rows, columns], "iota(), iota_dimension=1"), module.op("s32", [], "constant(0)")
    both = module.line(f"(f32[{rows}], s32[{rows}])",
                       f"reduce({block}, {positions}, {least}, {zero}), dimensions={{1}}, to_apply=largest")
    places = module.op("s32", [rows], f"get-tuple-element({both}), index=1")
    wanted = [40 if r == 3 else 0 if r == 4 else values.index(max(values)) for r, values in enumerate(table)]
    module.result(places, "s32", [rows], wanted)
module.run()
