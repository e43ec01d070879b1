"""Products with weights of 8 and 4 bits that become floats on the way, as language models are stored, and of few rows with floats, against the same in whole numbers.

Scales are powers of two and all sums fit the digits of a float, so every result is exact whatever the order."""

import random

from modules import Module

random.seed(11)
module = Module("narrow_weights", "")


def whole(count, low, high):
    return [random.randint(low, high) for _ in range(count)]


def scales_of(count):
    return [2.0 ** random.randint(-2, 1) for _ in range(count)]


def product(x, weights, rows, columns, depth):
    return [float(sum(x[r * depth + k] * weights[c * depth + k] for k in range(depth))) for r in range(rows) for c in range(columns)]


def dot(kind, rows, columns, depth, x, name, contracted):
    factor = module.parameter(kind, [rows, depth], [float(value) for value in x])
    return module.op("f32", [rows, columns], f"dot({factor}, {name}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{{contracted}}}")


def spread(kind, name, shape, groups, length):
    """A factor for each group of the depth: for all of its elements."""
    return module.op(kind, shape[:1] + [groups, length], f"broadcast({name}), dimensions={{0,1}}")


def grouped(kind, rows, columns, groups, length):
    """s8, a scale to a group of the depth."""
    depth = groups * length
    x, w, scales = whole(rows * depth, -4, 4), whole(columns * depth, -128, 127), scales_of(columns * groups)
    stored = module.op(kind, [columns, groups, length], f"convert({module.parameter('s8', [columns, groups, length], w)})")
    factor = spread(kind, module.parameter(kind, [columns, groups], scales), [columns, depth], groups, length)
    scaled = module.op(kind, [columns, groups, length], f"multiply({stored}, {factor})")
    name = module.op(kind, [columns, depth], f"reshape({scaled})")
    expected = [value * scales[i // length] for i, value in enumerate(w)]
    module.result(dot(kind, rows, columns, depth, x, name, 1), "f32", [rows, columns], product(x, expected, rows, columns, depth))


def halves(kind, rows, columns, groups, length, signed):
    """Two numbers of 4 bits to a byte, the lower half first; unsigned ones about a zero for each group."""
    depth, stored_kind = groups * length, "s8" if signed else "u8"
    pairs = [columns, groups, length // 2]
    x, packed, scales = whole(rows * depth, -4, 4), whole(columns * depth // 2, 0, 255), scales_of(columns * groups)
    zeros = [float(value) for value in whole(columns * groups, 0, 15)]
    bytes_ = module.parameter(stored_kind, pairs, [value - 256 if signed and value > 127 else value for value in packed])
    four = module.op(stored_kind, pairs, f"broadcast({module.op(stored_kind, [], 'constant(4)')}), dimensions={{}}")
    if signed:
        low = module.op("s8", pairs, f"shift-right-arithmetic({module.op('s8', pairs, f'shift-left({bytes_}, {four})')}, {four})")
        high = module.op("s8", pairs, f"shift-right-arithmetic({bytes_}, {four})")
    else:
        mask = module.op("u8", pairs, f"broadcast({module.op('u8', [], 'constant(15)')}), dimensions={{}}")
        low = module.op("u8", pairs, f"and({bytes_}, {mask})")
        high = module.op("u8", pairs, f"shift-right-logical({bytes_}, {four})")
    ends = [module.op(stored_kind, pairs + [1], f"reshape({half})") for half in (low, high)]
    both = module.op(stored_kind, pairs + [2], f"concatenate({ends[0]}, {ends[1]}), dimensions={{3}}")
    value = module.op(kind, [columns, groups, length], f"convert({module.op(stored_kind, [columns, groups, length], f'reshape({both})')})")
    if not signed:
        zero = spread(kind, module.parameter(kind, [columns, groups], zeros), [columns, depth], groups, length)
        value = module.op(kind, [columns, groups, length], f"subtract({value}, {zero})")
    factor = spread(kind, module.parameter(kind, [columns, groups], scales), [columns, depth], groups, length)
    name = module.op(kind, [columns, depth], f"reshape({module.op(kind, [columns, groups, length], f'multiply({value}, {factor})')})")
    numbers = [half for byte in packed for half in (byte & 15, byte >> 4)]
    expected = [(half - 16 if signed and half > 7 else half - (0 if signed else zeros[i // length])) * scales[i // length] for i, half in enumerate(numbers)]
    module.result(dot(kind, rows, columns, depth, x, name, 1), "f32", [rows, columns], product(x, expected, rows, columns, depth))


def across(kind, narrow, rows, columns, depth):
    """Weights that lie row by row of the depth, converted without more."""
    low, high = {"s8": (-128, 127), "u8": (0, 255), "s4": (-8, 7)}[narrow]
    x, w = whole(rows * depth, -4, 4), whole(depth * columns, low, high)
    name = module.op(kind, [depth, columns], f"convert({module.parameter(narrow, [depth, columns], w)})")
    turned = [w[k * columns + c] for c in range(columns) for k in range(depth)]
    module.result(dot(kind, rows, columns, depth, x, name, 0), "f32", [rows, columns], product(x, turned, rows, columns, depth))


def along(rows, columns, depth):
    """Weights that are floats already."""
    x, w = whole(rows * depth, -4, 4), whole(columns * depth, -16, 16)
    name = module.parameter("f32", [columns, depth], [float(value) for value in w])
    module.result(dot("f32", rows, columns, depth, x, name, 1), "f32", [rows, columns], product(x, w, rows, columns, depth))


for rows in (1, 4, 5, 6, 8, 10, 11):
    along(rows, 21, 83)
for kind in ("f32", "bf16"):
    for rows in (1, 3, 8):
        grouped(kind, rows, 19, 3, 64)
        halves(kind, rows, 13, 2, 64, True)
        halves(kind, rows, 13, 3, 32, False)
    halves(kind, 9, 20, 2, 64, True)
    for narrow in ("s8", "u8"):
        across(kind, narrow, 1, 70, 40)
        across(kind, narrow, 5, 70, 40)
across("f16", "s4", 1, 70, 40)
across("f32", "s4", 2, 37, 40)
module.run()
