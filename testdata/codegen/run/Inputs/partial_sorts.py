"""Parts of what is sorted against Python's: the first few and others of long lines, and what is computed on the way.

Each case sorts -x (|x| exactly representable) beside positions, and stores a range of places of either."""

import math

from modules import Module, shape_text
from sort_orders import GREATER, LESS, PARITY, TOTAL, comparator, line_orders, numbers

# Type of x, shape, dimension, order, the range of places of values and of positions (None: not stored), negated again.
CASES = [
    ("f32", [300], 0, TOTAL, (0, 5), (0, 5), False), ("f32", [2, 5000], 1, TOTAL, (0, 300), (0, 300), False),
    ("f32", [5000], 0, TOTAL, (0, 600), (0, 2), False), ("s32", [300, 3], 0, LESS, (0, 1), (0, 1), True),
    ("s32", [64], 0, LESS, (3, 9), (0, 64), False), ("s32", [1000], 0, GREATER, (40, 60), None, False),
    ("s32", [40, 2], 0, LESS, None, (0, 40), False), ("s32", [2, 33], 1, LESS, (0, 33), None, True),
    ("s32", [400], 0, PARITY, (0, 7), (390, 400), False), ("s64", [700], 0, GREATER, (0, 9), (0, 9), False),
    ("f32", [9, 40], 1, TOTAL, (0, 3), (0, 3), True), ("s32", [33, 12], 0, LESS, (30, 33), (5, 9), False),
    ("s8", [900], 0, LESS, (0, 20), (0, 20), False), ("f32", [1, 257], 1, TOTAL, (0, 1), (0, 1), True),
    ("f32", [700], 0, TOTAL, (0, 32), (0, 32), False), ("f32", [5, 300], 1, TOTAL, (0, 17), (0, 16), False),
]
# x in order, and the other way: each of its elements, or the first few alone, are among the first seen so far; all equal, the last there are.
LINES = [("s32", list(range(-400, 400)), 6), ("s32", list(range(400, -400, -1)), 6), ("s32", [7] * 800, 6),
         ("s32", [-1 << 31] * 803, 6), ("s64", list(range(-300, 301)) * 3, 9)]

module = Module("partial_sorts", "".join(comparator(f"before{number}", [kind, "s32"], text)
                                         for number, (kind, _, _, (text, _), *_) in enumerate(CASES)) +
                comparator("falls_s32", ["s32"], GREATER[0]) + comparator("falls_s64", ["s64"], GREATER[0]))


def slice_of(kind, shape, dimension, name, places):
    ranges = ", ".join(f"[{places[0]}:{places[1]}]" if d == dimension else f"[0:{extent}]" for d, extent in enumerate(shape))
    part = [places[1] - places[0] if d == dimension else extent for d, extent in enumerate(shape)]
    return module.op(kind, part, f"slice({name}), slice={{{ranges}}}"), part


def take(shape, dimension, values, places):
    inner = math.prod(shape[dimension + 1:])
    return [value for i, value in enumerate(values) if places[0] <= i // inner % shape[dimension] < places[1]]


for number, (kind, shape, dimension, (_, before), values_at, positions_at, again) in enumerate(CASES):
    count, inner = math.prod(shape), math.prod(shape[dimension + 1:])
    x = [-value if value != -128 or kind != "s8" else 0 for value in numbers(kind, count)]
    x = [0 if kind[0] == "s" and value >= 1 << int(kind[1:]) - 1 else value for value in x]
    negated = [-value for value in x]
    positions = [i // inner % shape[dimension] for i in range(count)]
    name = module.op(kind, shape, f"negate({module.parameter(kind, shape, x)})")
    iota = module.op("s32", shape, f"iota(), iota_dimension={dimension}")
    whole = module.line(f"({shape_text(kind, shape)}, {shape_text('s32', shape)})",
                        f"sort({name}, {iota}), dimensions={{{dimension}}}, is_stable=true, to_apply=before{number}")
    order = line_orders(shape, dimension, negated, before)
    for index, (type_, source, places) in enumerate([(kind, negated, values_at), ("s32", positions, positions_at)]):
        if places is None:
            continue
        part, part_shape = slice_of(type_, shape, dimension, module.op(type_, shape, f"get-tuple-element({whole}), index={index}"), places)
        expected = take(shape, dimension, [source[i] for i in order], places)
        if again and index == 0:
            part, expected = module.op(type_, part_shape, f"negate({part})"), [-value for value in expected]
        module.result(part, type_, part_shape, expected)

for kind, values, kept in LINES:
    whole = module.op(kind, [len(values)], f"sort({module.parameter(kind, [len(values)], values)}), dimensions={{0}}, to_apply=falls_{kind}")
    part, shape = slice_of(kind, [len(values)], 0, whole, (0, kept))
    module.result(part, kind, shape, sorted(values, reverse=True)[:kept])
module.run()
