"""Arrays whose size is set at run time, between static ones: some become dynamic, something is done with them, and what is there of the
result is set among zeroes."""

import math

from .core import EXACT, cap, listed, maker, shape_text
from .folds import combiner


def dynamic_text(kind, dims, dynamic):
    return shape_text(kind, [f"<={d}" if i in dynamic else d for i, d in enumerate(dims)])


class Sized:
    """A dynamic value: |sizes| by dimension, of those that are dynamic: (number, name of the s32[])."""

    def __init__(self, name, kind, dims, sizes, bound):
        self.name, self.kind, self.dims, self.sizes, self.bound = name, kind, tuple(dims), dict(sizes), bound


def number(c, value):
    one = c.line("s32[]", f"constant({value})")
    return value, c.line("s32[]", f"opt-barrier({one})") if c.rng.random() < 0.7 else one


def sized(c, node, sizes):
    """|node| with some of its dimensions set."""
    name, done = node.name, {}
    for d, size in sizes.items():
        done[d] = size
        name = c.line(dynamic_text(node.kind, node.dims, done), f"set-dimension-size({name}, {size[1]}), dimensions={{{d}}}")
    return Sized(name, node.kind, node.dims, sizes, node.bound)


def made(c, source, dims, sizes, text):
    return Sized(c.line(dynamic_text(source.kind, dims, sizes), text), source.kind, dims, sizes, source.bound)


def as_static(c, value):
    """Zeroes behind the sizes, and no sizes."""
    dims, name = value.dims, value.name
    zero = c.full(value.kind, dims, 0 if value.kind != "pred" else False)
    for d in value.sizes:
        size = c.line("s32[]", f"get-dimension-size({name}), dimensions={{{d}}}")
        place = c.line(shape_text("s32", dims), f"iota(), iota_dimension={d}")
        end = c.line(shape_text("s32", dims), f"broadcast({size}), dimensions={{}}")
        inside = c.line(shape_text("pred", dims), f"compare({place}, {end}), direction=LT")
        name = c.line(dynamic_text(value.kind, dims, value.sizes), f"select({inside}, {name}, {zero.name})")
    left = dict(value.sizes)
    for d in list(left):
        del left[d]
        bound = c.line("s32[]", f"constant({dims[d]})")
        name = c.line(dynamic_text(value.kind, dims, left), f"set-dimension-size({name}, {bound}), dimensions={{{d}}}")
    return c.node(value.kind, dims, f"copy({name})", value.bound)


def random_sizes(c, dims, where):
    return {d: number(c, c.rng.choice([dims[d], c.rng.randint(0, dims[d]), c.rng.randint(0, dims[d])])) for d in where}


def some(c, dims):
    return sorted(c.rng.sample(range(len(dims)), c.rng.randint(1, min(2, len(dims)))))


def reverse(c, a):
    over = sorted(set(some(c, a.dims)) | {min(a.sizes)})
    return made(c, a, a.dims, a.sizes, f"reverse({a.name}), dimensions={listed(over)}")


def twice(c, a):
    op = "maximum" if a.kind != "pred" else "or"
    return made(c, a, a.dims, a.sizes, f"{op}({a.name}, {a.name})")


def ordered(c, a):
    return made(c, a, a.dims, a.sizes, f"sort({a.name}), dimensions={{{min(a.sizes)}}}, is_stable=true, to_apply={combiner(c, 'GT', a.kind)}")


def turned(c, a):
    order = list(range(len(a.dims)))[::-1]
    there = made(c, a, [a.dims[i] for i in order], {order.index(d): size for d, size in a.sizes.items()},
                 f"transpose({a.name}), dimensions={listed(order)}")
    return made(c, there, a.dims, a.sizes, f"transpose({there.name}), dimensions={listed(order)}")


def flattened(c, a):
    """To one dimension and back, in order."""
    count = math.prod(a.dims)
    sizes = [a.sizes.get(d, (size, None)) for d, size in enumerate(a.dims)]
    names = [name or number(c, size)[1] for size, name in sizes]
    total = number(c, math.prod(size for size, _ in sizes))
    flat = made(c, a, (count,), {0: total}, f"dynamic-reshape({a.name}, {total[1]})")
    return made(c, flat, a.dims, a.sizes, f"dynamic-reshape({flat.name}, {', '.join(names)})")


@maker(2)
def dynamic(c, kind, dims, depth, exact):
    if not dims or math.prod(dims) == 0 or c.nested:
        return None
    node = c.make(kind, dims, depth)
    value = sized(c, node, random_sizes(c, dims, some(c, dims)))
    for step in c.rng.sample([reverse, twice, turned, flattened] + ([] if kind in EXACT else [ordered]), c.rng.randint(1, 3)):
        value = step(c, value)
    return as_static(c, value)


@maker()
def dynamic_sum(c, kind, dims, depth, exact):
    rng, count = c.rng, c.rng.choice([1, 2, 5, 8, 17, 33])
    if kind == "pred" or c.nested or math.prod(dims) == 0 or math.prod(dims) * count > 2 * c.shared.most:
        return None
    most = (cap(kind) - 1) // count  # of an element: sums in any order are exact
    if most < 1:
        return None
    at = rng.randint(0, len(dims))
    node = c.small(c.make(kind, dims[:at] + (count,) + dims[at:], depth), most)
    value = sized(c, node, random_sizes(c, node.dims, sorted({at, rng.randrange(len(node.dims))})))
    kept = {d - (d > at): size for d, size in value.sizes.items() if d != at}
    zero = c.scalar(kind, 0)
    text = f"reduce({value.name}, {zero.name}), dimensions={{{at}}}, to_apply={combiner(c, 'add', kind)}"
    return as_static(c, Sized(c.line(dynamic_text(kind, dims, kept), text), kind, dims, kept, cap(kind)))


@maker()
def dynamic_join(c, kind, dims, depth, exact):
    if not dims or math.prod(dims) == 0 or c.nested:
        return None
    at = c.rng.randrange(len(dims))
    cuts = sorted([0, dims[at]] + [c.rng.randint(0, dims[at]) for _ in range(c.rng.choice([1, 2]))])
    nodes = [c.make(kind, dims[:at] + (high - low,) + dims[at + 1:], depth) for low, high in zip(cuts, cuts[1:])]
    parts = [sized(c, node, random_sizes(c, node.dims, [at])) for node in nodes]
    total = sum(part.sizes[at][0] for part in parts)
    joined = Sized(c.line(dynamic_text(kind, dims, {at}), f"concatenate({', '.join(p.name for p in parts)}), dimensions={{{at}}}"),
                   kind, dims, {at: (total, None)}, c.most(*nodes))
    return as_static(c, joined)


@maker()
def dynamic_pad(c, kind, dims, depth, exact):
    if not dims or c.nested:
        return None
    source, parts = [], []
    for d in dims:
        o, interior = max(0, d - c.rng.choice([0, 0, 1, 2, -1])), c.rng.choice([0, 0, 1])
        rest = d - o - max(o - 1, 0) * interior
        low = c.rng.choice([0, rest, c.rng.randint(min(0, rest), max(0, rest))])
        parts.append(f"{low}_{rest - low}_{interior}")
        source.append(o)
    if math.prod(source) == 0:
        return None
    node, fill = c.make(kind, source, depth), c.make(kind, (), 0)
    value = sized(c, node, random_sizes(c, source, some(c, source)))
    text = f"pad({value.name}, {fill.name}), padding={'x'.join(parts)}"
    return as_static(c, Sized(c.line(dynamic_text(kind, dims, value.sizes), text), kind, dims, value.sizes, c.most(node, fill)))
