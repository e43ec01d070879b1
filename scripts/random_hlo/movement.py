"""Operations that move data."""

import math

from .core import listed, maker, shape_text


@maker()
def broadcast(c, kind, dims, depth, exact):
    kept = sorted(c.rng.sample(range(len(dims)), c.rng.randint(0, len(dims))))
    a = c.make(kind, [dims[i] for i in kept], depth, exact)
    return c.moved(a, dims, f"broadcast({a.name}), dimensions={listed(kept)}")


@maker()
def reshape(c, kind, dims, depth, exact):
    rng, count = c.rng, math.prod(dims)
    if count == 0:
        return None
    rest, other = count, []
    while rest > 1 and len(other) < 3:
        factor = rng.choice([f for f in range(1, rest + 1) if rest % f == 0])
        other.append(factor)
        rest //= factor
    other += [rest] if rest > 1 or not other else []
    if rng.random() < 0.3:
        other.insert(rng.randint(0, len(other)), 1)
    a = c.make(kind, other, depth, exact)
    op = "bitcast" if not a.laid and rng.random() < 0.2 else "reshape"
    return c.moved(a, dims, f"{op}({a.name})")


@maker()
def transpose(c, kind, dims, depth, exact):
    order = c.rng.sample(range(len(dims)), len(dims))
    source = [0] * len(dims)
    for i, where in enumerate(order):
        source[where] = dims[i]
    a = c.make(kind, source, depth, exact)
    return c.moved(a, dims, f"transpose({a.name}), dimensions={listed(order)}")


@maker()
def slice(c, kind, dims, depth, exact):
    rng, source, parts = c.rng, [], []
    for d in dims:
        start, stride = rng.choice([0, 0, 1, 3]), rng.choice([1, 1, 2, 3])
        limit = start + (max(d - 1, 0) * stride + 1 if d else 0)
        source.append(limit + rng.choice([0, 0, 1, 4]))
        parts.append(f"[{start}:{limit}:{stride}]")
    if not dims or math.prod(source) > 8 * c.shared.most:
        return None
    a = c.make(kind, source, depth, exact)
    return c.moved(a, dims, f"slice({a.name}), slice={{{', '.join(parts)}}}")


@maker()
def pad(c, kind, dims, depth, exact):
    rng, source, parts = c.rng, [], []
    if not dims:
        return None
    for d in dims:
        o, interior = max(0, d - rng.choice([0, 0, 1, 2, -1, -2])), rng.choice([0, 0, 0, 1, 2])
        rest = d - o - max(o - 1, 0) * interior
        low = rng.choice([0, 0, rest, rng.randint(min(-1, rest), max(1, rest))])
        parts.append(f"{low}_{rest - low}_{interior}")
        source.append(o)
    a, v = c.make(kind, source, depth, exact), c.make(kind, (), 0)
    return c.node(kind, dims, f"pad({a.name}, {v.name}), padding={'x'.join(parts)}", c.most(a, v), a.approx)


@maker()
def concatenate(c, kind, dims, depth, exact):
    if not dims:
        return None
    at = c.rng.randrange(len(dims))
    cuts = sorted([0, dims[at]] + [c.rng.randint(0, dims[at]) for _ in range(c.rng.choice([0, 1, 1, 2, 2, 3, 9]))])
    parts = [c.make(kind, dims[:at] + (high - low,) + dims[at + 1:], depth, exact) for low, high in zip(cuts, cuts[1:])]
    return c.node(kind, dims, f"concatenate({', '.join(p.name for p in parts)}), dimensions={{{at}}}", c.most(*parts),
                     any(p.approx for p in parts))


@maker()
def reverse(c, kind, dims, depth, exact):
    if not dims:
        return None
    a = c.make(kind, dims, depth, exact)
    return c.moved(a, dims, f"reverse({a.name}), dimensions={listed(sorted(c.rng.sample(range(len(dims)), c.rng.randint(1, len(dims)))))}")


@maker()
def forwarded(c, kind, dims, depth, exact):
    """Through tuples, barriers and tokens: no byte moves."""
    a, b = c.make(kind, dims, depth, exact), c.make("s32", (3,), 0)
    pick = c.rng.random()
    if pick < 0.3:
        token = c.line("token[]", "after-all()")
        return c.moved(a, dims, f"add-dependency({a.name}, {token})") if not a.laid else None
    inner = shape_text(kind, dims), shape_text("s32", (3,))
    pair = c.line(f"({inner[0]}, {inner[1]})", f"tuple({a.name}, {b.name})")
    outer = f"(({inner[0]}, {inner[1]}), {inner[1]})"
    both = c.line(outer, f"tuple({pair}, {b.name})")
    if pick < 0.7:
        both = c.line(outer, f"opt-barrier({both})")
    pair = c.line(f"({inner[0]}, {inner[1]})", f"get-tuple-element({both}), index=0")
    return c.moved(a, dims, f"get-tuple-element({pair}), index=0")
