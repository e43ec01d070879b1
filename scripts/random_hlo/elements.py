"""Elementwise operations."""

import math

from .core import COMMON, EXACT, any_kind, cap, maker, width


@maker(3)
def binary(c, kind, dims, depth, exact):
    rng = c.rng
    a, b = c.make(kind, dims, depth), c.make(kind, dims, depth)
    if kind == "pred":
        return c.node(kind, dims, f"{rng.choice(['and', 'or', 'xor'])}({a.name}, {b.name})", 1)
    if kind in EXACT:
        op = rng.choice(["add", "subtract", "multiply", "maximum", "minimum", "remainder"])
        most = math.isqrt(EXACT[kind]) if op == "multiply" else EXACT[kind] // 2
        a, b = c.small(a, most), c.small(b, most)
        bound = a.bound * b.bound if op == "multiply" else a.bound + b.bound
        return c.node(kind, dims, f"{op}({a.name}, {b.name})", bound)
    op = rng.choice(["add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor", "divide", "remainder", "shift-left",
                     "shift-right-logical", "shift-right-arithmetic"] + (["mulhi"] if width(kind) > 4 else ["power"]))
    if op.startswith("shift"):
        b = c.node(kind, dims, f"and({b.name}, {c.full(kind, dims, width(kind) - 1).name})", width(kind))
    return c.node(kind, dims, f"{op}({a.name}, {b.name})")


@maker()
def unary(c, kind, dims, depth, exact):
    a = c.make(kind, dims, depth)
    if kind == "pred":
        return c.node(kind, dims, f"not({a.name})", 1)
    if kind in EXACT and c.rng.random() < 0.15:  # small integers need few bits
        bits = c.rng.choice([(8, 7), (5, 10), (8, 23), (4, 3), (5, 2)])
        a = c.small(a, 2 ** min(bits[1] + 1, 7))
        return c.node(kind, dims, f"reduce-precision({a.name}), exponent_bits={bits[0]}, mantissa_bits={bits[1]}", a.bound)
    signed = ["negate", "abs", "sign"]
    ops = (signed + ["floor", "ceil", "round-nearest-afz", "round-nearest-even", "copy"] if kind in EXACT else
           (signed if kind[0] == "s" else []) + ["not", "popcnt", "count-leading-zeros", "copy"])
    return c.node(kind, dims, f"{c.rng.choice(ops)}({a.name})", a.bound if kind in EXACT else None)


@maker(2)
def maths(c, kind, dims, depth, exact):
    if kind not in EXACT or exact:
        return None
    a = c.small(c.make(kind, dims, depth), 4)
    op = c.rng.choice(["exponential", "tanh", "sine", "cosine", "logistic", "exponential-minus-one", "cbrt", "erf", "tan",
                        "sinh", "cosh", "asinh", "acos", "asin", "atanh", "atan2", "acosh", "sqrt", "rsqrt", "log", "log-plus-one", "divide",
                        "power"])
    if op in ("acos", "asin", "atanh"):  # halves at most: their slope is gentle there
        a = c.node(kind, dims, f"multiply({c.small(a, 1).name}, {c.full(kind, dims, 0.5).name})", 0.5)
    if op == "atan2":
        return c.node(kind, dims, f"atan2({a.name}, {c.small(c.make(kind, dims, depth), 4).name})", None, True)
    if op in ("acosh", "sqrt", "rsqrt", "log", "log-plus-one", "divide", "power"):
        one = c.full(kind, dims, 1)
        up = c.node(kind, dims, f"abs({a.name})", a.bound)
        up = c.node(kind, dims, f"add({up.name}, {one.name})", a.bound + 1)
        if op == "divide":
            other = c.small(c.make(kind, dims, depth), 50)
            return c.node(kind, dims, f"divide({other.name}, {up.name})", None, True)
        if op == "power":
            return c.node(kind, dims, f"power({up.name}, {c.small(a, 2).name})", None, True)
        a = c.node(kind, dims, f"add({up.name}, {one.name})", up.bound + 1) if op == "acosh" else up
    return c.node(kind, dims, f"{op}({a.name})", None, True)


@maker()
def convert(c, kind, dims, depth, exact):
    rng = c.rng
    a = c.make(any_kind(rng), dims, depth)
    bound = a.bound
    if kind in EXACT:
        a = c.small(a, min(100, cap(kind)))
        bound = 1 if a.kind == "pred" else a.bound
    elif a.kind in EXACT and kind != "pred":
        a = c.small(a, min(100, cap(kind)))
        a = c.node(a.kind, dims, f"abs({a.name})", a.bound) if kind[0] == "u" else a
        bound = a.bound
    elif kind[0] == "u" and a.kind[0] == "s" or (bound or 0) > min(100, cap(kind)):
        bound = None
    return c.node(kind, dims, f"convert({a.name})", 1 if kind == "pred" else bound)


@maker(2)
def compare(c, kind, dims, depth, exact):
    if kind != "pred":
        return None
    other = any_kind(c.rng)
    if other in EXACT and c.rng.random() < 0.2:
        return c.node(kind, dims, f"is-finite({c.make(other, dims, depth, exact).name})", 1)
    a, b = c.make(other, dims, depth), c.make(other, dims, depth)
    order = ""
    if other in EXACT and c.rng.random() < 0.2:
        a, b, order = c.number(a), c.number(b), ", type=TOTALORDER"  # which tells NaN of one sign from those of the other
    return c.node(kind, dims, f"compare({a.name}, {b.name}), direction={c.rng.choice(['EQ', 'NE', 'LT', 'LE', 'GT', 'GE'])}{order}", 1)


@maker()
def select(c, kind, dims, depth, exact):
    p = c.make("pred", dims if c.rng.random() < 0.8 else (), depth)
    a, b = c.make(kind, dims, depth, exact), c.make(kind, dims, depth, exact)
    return c.node(kind, dims, f"select({p.name}, {a.name}, {b.name})", c.most(a, b), a.approx or b.approx)


@maker()
def clamp(c, kind, dims, depth, exact):
    if kind == "pred":
        return None
    a, b = (c.make(kind, dims, depth) for _ in range(2))
    low = c.full(kind, dims, 0)
    if c.rng.random() < 0.5:  # limits for all elements
        top = c.rng.randint(0, 5)
        return c.node(kind, dims, f"clamp({c.scalar(kind, 0).name}, {a.name}, {c.scalar(kind, top).name})", top)
    high = c.node(kind, dims, f"maximum({b.name}, {low.name})", b.bound)
    return c.node(kind, dims, f"clamp({low.name}, {a.name}, {high.name})", high.bound)


@maker()
def bitcast_convert(c, kind, dims, depth, exact):
    """The bits of other numbers; any bits are an integer, so only integers come out."""
    if kind == "pred" or kind in EXACT or width(kind) < 8:
        return None
    sources = [other for other in COMMON if other != "pred" and int(other.lstrip("bsuf")) % width(kind) == 0]
    if c.rng.random() < 0.7:  # unequal widths are rarer in models
        sources = [other for other in sources if int(other.lstrip("bsuf")) == width(kind)]
    wider = [other for other in COMMON if other != "pred" and other not in EXACT and dims and width(kind) % width(other) == 0]
    if wider and c.rng.random() < 0.3:
        other = c.rng.choice(wider)
        ratio = width(kind) // width(other)
        return c.node(kind, dims, f"bitcast-convert({c.number(c.make(other, dims + ((ratio,) if ratio > 1 else ()), depth)).name})")
    other = c.rng.choice(sources)
    ratio = int(other.lstrip("bsuf")) // width(kind)
    if ratio > 1 and (not dims or dims[-1] != ratio):
        return None
    return c.node(kind, dims, f"bitcast-convert({c.number(c.make(other, dims[:-1] if ratio > 1 else dims, depth)).name})")


@maker()
def mapped(c, kind, dims, depth, exact):
    if kind == "pred" or kind in EXACT or not dims:
        return None
    a, b = c.make(kind, dims, depth), c.make(kind, dims, depth)
    name = c.shared.function(f"mapped_{kind}", [f"a = {kind}[] parameter(0)", f"b = {kind}[] parameter(1)", f"m = {kind}[] multiply(a, b)",
                                                f"ROOT r = {kind}[] xor(m, a)"])
    return c.node(kind, dims, f"map({a.name}, {b.name}), dimensions={{{','.join(map(str, range(len(dims))))}}}, to_apply={name}")
