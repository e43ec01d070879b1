"""Element types of HLO, the values that files hold of them, and values for inputs."""

import math
import random
import sys

FLOATS = {  # mantissa bits, smallest normal exponent, largest finite value, npy
    "f64": (52, -1022, sys.float_info.max, "<f8"), "f32": (23, -126, 3.4028234663852886e38, "<f4"),
    "f16": (10, -14, 65504.0, "<f2"), "bf16": (7, -126, 3.3895313892515355e38, "<f4"),
    "f8e4m3fn": (3, -6, 448.0, "<f4"), "f8e5m2": (2, -14, 57344.0, "<f4"), "f8e4m3": (3, -6, 240.0, "<f4"), "f8e3m4": (4, -2, 15.5, "<f4"),
    "f8e4m3b11fnuz": (3, -10, 30.0, "<f4"), "f8e4m3fnuz": (3, -7, 240.0, "<f4"), "f8e5m2fnuz": (2, -15, 57344.0, "<f4"),
    "f8e8m0fnu": (0, -127, 2.0 ** 127, "<f4"), "f6e3m2fn": (2, -2, 28.0, "<f4"), "f6e2m3fn": (3, 0, 7.5, "<f4"), "f4e2m1fn": (1, 0, 6.0, "<f4")}
F8 = [kind for kind in FLOATS if kind.startswith("f8")]
HAVE_INFINITY = ("f64", "f32", "f16", "bf16", "f8e5m2", "f8e4m3", "f8e3m4")
HAVE_NO_NAN = ("f6e3m2fn", "f6e2m3fn", "f4e2m1fn")
POSITIVE = "f8e8m0fnu"  # powers of two only
INTS = {f"{sign}{bits}": (sign == "s", bits) for sign in "su" for bits in (8, 16, 32, 64, 4, 2, 1)}
COMPLEX = {"c64": ("f32", "<c8"), "c128": ("f64", "<c16")}
MAIN_FLOATS = ["f32", "f64", "f16", "bf16"]
MAIN_INTS = ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"]
RARE_FLOATS = [kind for kind in FLOATS if kind not in MAIN_FLOATS]
RARE_INTS = [kind for kind in INTS if kind not in MAIN_INTS]
KINDS = [*FLOATS, *INTS, "pred", *COMPLEX]


def npy_type(kind):
    if kind in FLOATS:
        return FLOATS[kind][3]
    if kind in COMPLEX:
        return COMPLEX[kind][1]
    if kind == "pred":
        return "|b1"
    signed, bits = INTS[kind]
    return ("|" if bits <= 8 else "<") + ("i" if signed else "u") + str(max(1, bits // 8))


def rounded(kind, value):
    """|value| as a float of |kind| holds it."""
    if kind == "f64" or math.isnan(value) or math.isinf(value) or value == 0:
        return value
    mantissa, low, largest, _ = FLOATS[kind]
    value = abs(value) if kind == POSITIVE else value
    exponent = max(math.frexp(value)[1] - 1, low)
    unit = 2.0 ** (exponent - mantissa)
    result = math.copysign(round(value / unit) * unit, value)
    result = math.copysign(largest, value) if abs(result) > largest else result
    if result == 0:
        return unit if kind == POSITIVE else 0.0 if kind.endswith("fnuz") else result
    return result


def is_value(kind, value):
    """Whether a float of |kind| holds it, among numbers that have been rounded."""
    if math.isnan(value):
        return kind not in HAVE_NO_NAN
    if math.isinf(value):
        return kind in HAVE_INFINITY
    if kind == POSITIVE:
        return value > 0
    return value != 0 or math.copysign(1, value) > 0 or not kind.endswith("fnuz")


def extremes(kind):
    """The least and the greatest value."""
    if kind == "pred":
        return False, True
    if kind in INTS:
        signed, bits = INTS[kind]
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    largest = FLOATS[kind][2]
    least = 2.0 ** -127 if kind == POSITIVE else -largest
    return (-math.inf, math.inf) if kind in HAVE_INFINITY else (least, largest)


def edge_values(kind):
    if kind == "pred":
        return [False, True]
    if kind in INTS:
        bits, (low, high) = INTS[kind][1], extremes(kind)
        return [v for v in dict.fromkeys([0, 1, low, high, -1, 2, high - 1, low + 1, 3, bits - 1, bits, bits + 1, high // 2, 7])
                if low <= v <= high]
    mantissa, low, largest, _ = FLOATS[kind]
    tiny = 2.0 ** max(low - mantissa, -1074)
    values = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, tiny, -tiny, 2.0 ** low, largest, -largest, 0.5, -0.5, 1.5, 2.5,
              2.0, -2.0, 3.0, math.pi, -1e-3, 100.0, -100.0, 2.0 ** low * 0.75, 10.0, 88.0, -88.0, 0.999, 1.001]
    return [v for v in (rounded(kind, v) for v in values) if is_value(kind, v)]


class Values:
    """Input values of a kind: 'edge' (extremes first), 'small' (tame numbers), 'unit' (0 … 1), 'index' (within |most|).  The same for a seed on
    every machine: no mathematical function has a part in them."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, kind, style, most):
        rng = self.random
        if kind == "pred":
            return rng.random() < 0.5
        if kind in INTS:
            signed, bits = INTS[kind]
            if style == "index":
                return rng.randint(-2 if signed else 0, most + 1)
            if style != "edge" and bits >= 4:
                return rng.randint(-4 if signed else 0, 6)
            return rng.randint(-(1 << bits - 1), (1 << bits - 1) - 1) if signed else rng.randint(0, (1 << bits) - 1)
        if style == "unit":
            return rounded(kind, rng.random() * 0.98 + 0.01)
        if style == "small" or rng.random() < 0.5:
            return rounded(kind, rng.uniform(-3, 3))
        return rounded(kind, math.ldexp(rng.uniform(-1, 1), rng.randint(-16, 17)))

    def make(self, kind, count, style="edge", most=0, shift=0):
        if kind in COMPLEX:
            part = COMPLEX[kind][0]
            return list(zip(self.make(part, count, style, most, shift), self.make(part, count, style, most, 2 * shift + 1)))
        edges = edge_values(kind) if style == "edge" else []
        # Edge values only part of the time, so that short arrays see different ones.
        return [edges[(i * (1 + shift) + shift) % len(edges)] if edges and i < 2 * len(edges) * (1 + shift)
                else self.one(kind, style, most) for i in range(count)]
