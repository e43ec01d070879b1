"""Reductions and windows."""

import math

from .core import COMMON, EXACT, cap, listed, maker, shape_text

# Combiners beyond a single operation, all associative and commutative: name → lines (K: the element type), for integers and for floats.
ODD_INTEGER = {
    "more": ["s = K[] add(a, b)", "one = K[] constant(1)", "ROOT r = K[] add(s, one)"],  # its neutral element is -1
    "either": ["s = K[] add(a, b)", "m = K[] multiply(a, b)", "ROOT r = K[] subtract(s, m)"],
    "at_most": ["m = K[] maximum(a, b)", "top = K[] constant(5)", "ROOT r = K[] minimum(m, top)"],
    "larger": ["more = pred[] compare(a, b), direction=GT", "ROOT r = K[] select(more, a, b)"],
    "backwards": ["ROOT r = K[] add(b, a)"]}
ODD_FLOAT = {
    "at_most": ODD_INTEGER["at_most"], "larger": ODD_INTEGER["larger"],
    "larger_size": ["p = K[] abs(a)", "q = K[] abs(b)", "ROOT r = K[] maximum(p, q)"],
    "in_f32": ["p = f32[] convert(a)", "q = f32[] convert(b)", "s = f32[] maximum(p, q)", "ROOT r = K[] convert(s)"]}
ODD_PRED = {"parity": ["ROOT r = K[] xor(a, b)"], "same": ["ROOT r = K[] compare(a, b), direction=EQ"], "any": ["ROOT r = K[] maximum(a, b)"]}


def combiner(c, op, kind):
    """A computation of two scalars: an opcode, a comparison's direction, or one of the above."""
    odd = (ODD_PRED if kind == "pred" else ODD_FLOAT if kind in EXACT else ODD_INTEGER).get(op)
    lines = [line.replace("K[]", f"{kind}[]") for line in odd] if odd else [f"ROOT r = {kind}[] {op}(a, b)"]
    if op in ("GE", "GT", "LE"):
        lines = [f"ROOT r = pred[] compare(a, b), direction={op}"]
    return c.shared.function(f"{op.replace('-', '_')}_{kind}", [f"a = {kind}[] parameter(0)", f"b = {kind}[] parameter(1)"] + lines)


def fold(c, kind, count):
    """(operation, initial value, bound of the elements, bound of the result) for |count| elements."""
    rng = c.rng
    if kind == "pred":
        return rng.choice([("and", True), ("or", False), ("parity", True), ("same", False), ("any", False)]) + (1, 1)
    if kind not in EXACT:
        odd = [(op, rng.choice([0, 1, 4])) for op in ODD_INTEGER]
        return rng.choice([("add", 0), ("maximum", 0), ("minimum", min(9, cap(kind))), ("multiply", 1), ("and", min(127, cap(kind))), ("or", 0),
                           ("xor", 0), rng.choice(odd)]) + (None, None)
    each = (EXACT[kind] - 4) // max(count, 1)
    op, start = rng.choice([("add", 0), ("add", 2), ("maximum", -3), ("minimum", 3), ("multiply", 1), (rng.choice(list(ODD_FLOAT)), 2)])
    if op in ODD_FLOAT:
        return op, start, EXACT[kind], EXACT[kind]
    if op == "add" and each >= 1:
        return op, start, each, EXACT[kind]
    return ("multiply", 1, 1, 1) if op == "multiply" else ("maximum", -3, EXACT[kind], EXACT[kind])


def folded(c, node, bound):
    return node if bound is None else c.small(node, bound)


def with_extra(c, dims):
    """|dims| with some more in between: (dims, where)."""
    rng, source, where = c.rng, list(dims), []
    for _ in range(rng.choice([1, 1, 2])):
        at = rng.randint(0, len(source))
        source.insert(at, rng.choice([0, 1, 2, 3, 5, 8, 17, 33]) if rng.random() < 0.8 else 65)
        where = [w + (w >= at) for w in where] + [at]
    return source, sorted(where)


@maker(2)
def reduce(c, kind, dims, depth, exact):
    source, where = with_extra(c, dims)
    if len(source) > 6 or math.prod(source) > 4 * c.shared.most:
        return None
    op, start, each, bound = fold(c, kind, math.prod(source[w] for w in where))
    a, init = folded(c, c.make(kind, source, depth), each), c.scalar(kind, start)
    return c.node(kind, dims, f"reduce({a.name}, {init.name}), dimensions={listed(where)}, to_apply={combiner(c, op, kind)}", bound)


@maker()
def reduce_several(c, kind, dims, depth, exact):
    """Sums, extremes … of two arrays at once, of different types."""
    other = c.rng.choice(COMMON)
    source, where = with_extra(c, dims)
    if len(source) > 6 or math.prod(source) > 4 * c.shared.most:
        return None
    count = math.prod(source[w] for w in where)
    simple = [fold(c, k, count) for k in (kind, other)]
    if any(op in ODD_INTEGER or op in ODD_FLOAT or op in ODD_PRED for op, *_ in simple):
        return None
    arrays = [folded(c, c.make(k, source, depth), each) for k, (_, _, each, _) in zip((kind, other), simple)]
    inits = [c.scalar(k, start) for k, (_, start, _, _) in zip((kind, other), simple)]
    name = c.shared.function(f"both_{simple[0][0]}_{kind}_{simple[1][0]}_{other}", [
        f"a = {kind}[] parameter(0)", f"i = {other}[] parameter(1)", f"b = {kind}[] parameter(2)", f"j = {other}[] parameter(3)",
        f"first = {kind}[] {simple[0][0]}(a, b)", f"second = {other}[] {simple[1][0]}(i, j)", f"ROOT r = ({kind}[], {other}[]) tuple(first, second)"])
    pair = c.line(f"({shape_text(kind, dims)}, {shape_text(other, dims)})",
                  f"reduce({arrays[0].name}, {arrays[1].name}, {inits[0].name}, {inits[1].name}), dimensions={listed(where)}, to_apply={name}")
    c.node(other, dims, f"get-tuple-element({pair}), index=1", simple[1][3])
    return c.node(kind, dims, f"get-tuple-element({pair}), index=0", simple[0][3])


def arg_max_of(c, kind):
    return c.shared.function(f"arg_max_{kind}", [
        f"a = {kind}[] parameter(0)", "i = s32[] parameter(1)", f"b = {kind}[] parameter(2)", "j = s32[] parameter(3)",
        "more = pred[] compare(a, b), direction=GT", "same = pred[] compare(a, b), direction=EQ", "first = pred[] compare(i, j), direction=LT",
        "tie = pred[] and(same, first)", "left = pred[] or(more, tie)", f"value = {kind}[] select(left, a, b)",
        "index = s32[] select(left, i, j)", f"ROOT r = ({kind}[], s32[]) tuple(value, index)"])


@maker()
def arg_max(c, kind, dims, depth, exact):
    source, where = with_extra(c, dims)
    if kind != "s32" or math.prod(source) > 4 * c.shared.most or len(where) != 1 or len(source) > 5:
        return None
    other = c.rng.choice(["f32", "f64", "s32", "u8", "s64", "bf16", "f16", "s4", "f8e4m3fn"])
    a = c.make(other, source, depth)
    i = c.node("s32", source, f"iota(), iota_dimension={where[0]}", 100)
    low, far = c.scalar(other, 0 if other[0] == "u" else -min(100, cap(other))), c.scalar("s32", 99)
    shapes = f"({shape_text(other, dims)}, {shape_text('s32', dims)})"
    pair = c.line(shapes, f"reduce({a.name}, {i.name}, {low.name}, {far.name}), dimensions={listed(where)}, to_apply={arg_max_of(c, other)}")
    c.node(other, dims, f"get-tuple-element({pair}), index=0", None if a.bound is None else max(100, a.bound))
    return c.node("s32", dims, f"get-tuple-element({pair}), index=1", 100)


@maker()
def reduce_window(c, kind, dims, depth, exact):
    if not dims or 0 in dims or len(dims) > 4:
        return None
    rng, source, window = c.rng, [], []
    for d in dims:
        size, stride, dilate, holes = rng.choice([1, 1, 2, 3, 4]), rng.choice([1, 1, 2, 3]), rng.choice([1, 1, 1, 2]), rng.choice([1, 1, 1, 1, 2])
        low, high = rng.choice([0, 0, 1, 2, -1]), rng.choice([0, 0, 1, 2])
        spread = (d - 1) * stride + (size - 1) * dilate + 1 - low - high + rng.randrange(stride)
        o = (spread - 1) // holes + 1
        high += spread - ((o - 1) * holes + 1)
        if o < 1:
            return None
        source.append(o)
        window.append((size, stride, f"{low}_{high}", holes, dilate))
    if math.prod(source) > 8 * c.shared.most:
        return None
    op, start, each, bound = fold(c, kind, math.prod(w[0] for w in window))
    start = 0 if op in ("add", "backwards", "either") else start  # how often the initial value counts where there is padding is left open
    op = "add" if op == "more" else "any" if op in ("parity", "same") else op
    start = 0 if op == "add" else start
    a, init = folded(c, c.make(kind, source, depth), each), c.scalar(kind, False if op == "any" else start)
    text = " ".join(f"{key}={'x'.join(str(w[i]) for w in window)}" for i, key in enumerate(["size", "stride", "pad", "lhs_dilate", "rhs_dilate"]))
    return c.node(kind, dims, f"reduce-window({a.name}, {init.name}), window={{{text}}}, to_apply={combiner(c, op, kind)}", bound)


@maker()
def select_and_scatter(c, kind, dims, depth, exact):
    if kind not in ("f32", "f64", "s32", "f16", "u8", "s64", "bf16") or not dims or 0 in dims or len(dims) > 4:
        return None
    rng, source, window = c.rng, [], []
    for d in dims:
        size, stride, low = rng.randint(1, min(3, d)), rng.choice([1, 2, 3]), rng.choice([0, 0, 1])
        low = min(low, size - 1)
        source.append((d + low - size) // stride + 1)
        window.append((size, stride, f"{low}_0"))
    a, s = c.make(kind, dims, depth), c.make(kind, source, depth)
    count = math.prod(w[0] for w in window)
    if kind in EXACT:
        s = c.small(s, max(1, EXACT[kind] // (2 * count)))
    text = " ".join(f"{key}={'x'.join(str(w[i]) for w in window)}" for i, key in enumerate(["size", "stride", "pad"]))
    return c.node(kind, dims, f"select-and-scatter({a.name}, {s.name}, {c.scalar(kind, 0).name}), window={{{text}}}, "
                  f"select={combiner(c, rng.choice(['GE', 'GT', 'LE']), kind)}, scatter={combiner(c, 'add', kind)}", EXACT.get(kind))
