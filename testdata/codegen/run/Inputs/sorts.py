"""sort against Python's: with keys and without, short lines and long, one array and several, any dimension; and lines so
long that threads share them."""

import math
import sys

from modules import Module, shape_text
from sort_orders import GREATER, LESS, LOW, PARITY, SWAPPED, TOTAL, comparator, line_orders, numbers

CASES = [
    (["f32"], [37], 0, TOTAL), (["f32"], [1], 0, TOTAL), (["f32"], [5000], 0, TOTAL), (["f32", "s32"], [3, 2048], 1, TOTAL),
    (["s32"], [16], 0, LESS), (["s32", "u8", "f64"], [17, 3], 0, LESS), (["u32"], [2, 100], 1, GREATER), (["s8", "s32"], [700], 0, SWAPPED),
    (["pred", "s32"], [300], 0, LESS), (["u16", "s32"], [2, 260, 3], 1, GREATER), (["s64"], [2500], 0, LESS), (["u64", "s32"], [33], 0, GREATER),
    (["f32"], [4100, 3], 0, TOTAL), (["u16"], [300], 0, SWAPPED), (["s8"], [2, 700], 1, GREATER), (["s64"], [2100, 2], 0, LESS),
    (["f32"], [2, 3000], 1, TOTAL), (["pred"], [400, 2], 0, LESS), (["s32"], [4000], 0, LOW),
    (["f32", "s32"], [4, 2], 1, TOTAL), (["f32", "s32"], [13, 37], 1, TOTAL), (["s32", "u8", "f64"], [100, 9], 0, LESS), (["f32"], [8, 1000], 1, TOTAL),
    (["u16", "s32"], [3, 255, 7], 1, GREATER), (["s8", "s32"], [5, 3], 1, SWAPPED), (["u32", "s32"], [11, 64], 1, GREATER), (["f32"], [1024, 5], 0, TOTAL),
    (["u32", "s32"], [1500], 0, LESS), (["f32", "s32"], [2, 300], 1, TOTAL),
    (["s32", "s32"], [1000], 0, PARITY), (["s32"], [2, 3, 5], 1, PARITY), (["f32", "s32"], [200], 0, LESS),
]

# Numbers of 16 bits take two passes, of 8 bits one; FEW have a digit in common.
SHARED = [
    (["f32"], [70000], 0, TOTAL), (["s32", "s16"], [33000], 0, GREATER), (["u16", "f32"], [40001], 0, LESS), (["pred", "s32"], [33000], 0, LESS),
    (["s64"], [2, 32768], 1, LESS), (["f32"], [33000, 3], 0, TOTAL), (["u8"], [40000], 0, SWAPPED), (["u64", "s32"], [34000], 0, GREATER),
    (["s32"], [50000], 0, LOW), (["s32", "s32"], [66000], 0, PARITY), (["f32", "s32"], [2, 33000], 1, LESS),
]
is_shared = sys.argv[3:] == ["shared"]
CASES = SHARED if is_shared else CASES

module = Module("sorts", "".join(comparator(f"before{number}", kinds, text)
                                 for number, (kinds, _, _, (text, _)) in enumerate(CASES)))
for number, (kinds, shape, dimension, (text, before)) in enumerate(CASES):
    count = math.prod(shape)
    arrays = [numbers(kind, count) if i == 0 else [j % 100 for j in range(count)] for i, kind in enumerate(kinds)]
    names = [module.parameter(kind, shape, values) for kind, values in zip(kinds, arrays)]
    attributes = f"dimensions={{{dimension}}}, is_stable=true, to_apply=before{number}"
    order = line_orders(shape, dimension, arrays[0], before)
    if len(kinds) == 1:
        results = [module.op(kinds[0], shape, f"sort({names[0]}), {attributes}")]
    else:
        whole = module.line(f"({', '.join(shape_text(kind, shape) for kind in kinds)})", f"sort({', '.join(names)}), {attributes}")
        results = [module.op(kind, shape, f"get-tuple-element({whole}), index={i}") for i, kind in enumerate(kinds)]
    for kind, result, values in zip(kinds, results, arrays):
        module.result(result, kind, shape, [values[i] for i in order])
module.run(threads=(1, 2, 3, 7) if is_shared else (None,))
