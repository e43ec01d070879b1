"""Orders of lines as Python sorts them: comparators, their texts, numbers to sort."""

import functools
import itertools
import math
import random
import struct

RANDOM = random.Random(1)

# What stands before what: the comparator's text for elements a and b of the first array, and the same in Python.


def bits(value):
    """The place of an f32 in the total order."""
    pattern = struct.unpack("<i", struct.pack("<f", value))[0]
    return pattern if pattern >= 0 else pattern ^ 0x7FFFFFFF


TOTAL = ("ROOT r = pred[] compare(a0, b0), direction=LT, type=TOTALORDER", lambda a, b: bits(a) < bits(b))
LESS = ("ROOT r = pred[] compare(a0, b0), direction=LT", lambda a, b: a < b)
GREATER = ("ROOT r = pred[] compare(a0, b0), direction=GT", lambda a, b: a > b)
SWAPPED = ("ROOT r = pred[] compare(b0, a0), direction=LT", lambda a, b: b < a)
# A key that different numbers share: they stay in order.
LOW = ("m = s32[] constant(1023)\n  x = s32[] and(a0, m)\n  y = s32[] and(b0, m)\n  ROOT r = pred[] compare(x, y), direction=LT",
       lambda a, b: a & 1023 < b & 1023)
# No key: odd before even, each in falling order.
PARITY = ("one = s32[] constant(1)\n  p = s32[] and(a0, one)\n  q = s32[] and(b0, one)\n  g = pred[] compare(p, q), direction=GT\n"
          "  e = pred[] compare(p, q), direction=EQ\n  f = pred[] compare(a0, b0), direction=GT\n  i = pred[] and(e, f)\n"
          "  ROOT r = pred[] or(g, i)", lambda a, b: (a & 1, a) > (b & 1, b))


def numbers(kind, count):
    if kind == "f32":
        special = [0.0, -0.0, math.inf, -math.inf, 1.5, -1.5]
        return [RANDOM.choice(special) if RANDOM.random() < 0.3 else float(RANDOM.randint(-1000, 1000)) for _ in range(count)]
    if kind == "pred":
        return [RANDOM.random() < 0.5 for _ in range(count)]
    width = int(kind[1:])
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    few = [low, high, 0, 1, 2]
    return [RANDOM.choice(few) if RANDOM.random() < 0.4 else RANDOM.randint(low, high) for _ in range(count)]


def line_orders(shape, dimension, keys, before):
    """Element number of the result → that of the operand."""
    strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    order = [0] * math.prod(shape)
    compare = functools.cmp_to_key(lambda i, j: -1 if before(keys[i], keys[j]) else 1 if before(keys[j], keys[i]) else 0)
    for rest in itertools.product(*(range(1 if i == dimension else extent) for i, extent in enumerate(shape))):
        base = sum(i * s for i, s in zip(rest, strides))
        line = [base + i * strides[dimension] for i in range(shape[dimension])]
        for place, source in zip(line, sorted(line, key=compare)):
            order[place] = source
    return order


def comparator(name, kinds, text):
    """The computation |name| that is |text| of elements a0, b0, a1, b1, … of arrays of |kinds|."""
    parameters = "".join(f"  {'ab'[i % 2]}{i // 2} = {kinds[i // 2]}[] parameter({i})\n" for i in range(2 * len(kinds)))
    return f"{name} {{\n{parameters}  {text}\n}}\n"
