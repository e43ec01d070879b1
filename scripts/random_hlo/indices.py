"""Operations whose places are values."""

import math

from .core import EXACT, INTS, listed, maker, shape_text
from .folds import ODD_INTEGER, combiner


def index(c, depth, most):
    return c.make("s32", (), depth) if c.rng.random() < 0.5 else c.scalar("s32", c.rng.randint(-2, most + 2))


@maker(2)
def dynamic_slice(c, kind, dims, depth, exact):
    if not dims:
        return None
    source = [d + c.rng.choice([0, 1, 3]) for d in dims]
    a = c.make(kind, source, depth, exact)
    at = ", ".join(index(c, depth - 1, s).name for s in source)
    return c.moved(a, dims, f"dynamic-slice({a.name}, {at}), dynamic_slice_sizes={listed(dims)}")


@maker(2)
def dynamic_update_slice(c, kind, dims, depth, exact):
    if not dims:
        return None
    a = c.make(kind, dims, depth, exact)
    u = c.make(kind, [c.rng.choice([d, max(d - 1, 0), min(d, 1)]) for d in dims], depth, exact)
    at = ", ".join(index(c, depth - 1, d).name for d in dims)
    return c.node(kind, dims, f"dynamic-update-slice({a.name}, {u.name}, {at})", c.most(a, u), a.approx or u.approx)


def indices_of(c, batch, count, depth):
    """Indices for |batch| places of |count| numbers each: (array, the dimension that holds these, positions of the batch)."""
    rng, kind = c.rng, c.rng.choice(["s32", "s32", "s32", "s64", "u32", "s16"])
    at = rng.randint(0, len(batch))
    if count == 1 and rng.random() < 0.3:
        at, dims = len(batch), list(batch)
    else:
        dims = list(batch[:at]) + [count] + list(batch[at:])
    array = c.make(kind, dims, depth)
    if rng.random() < 0.7 and kind != "u32":  # mostly inside
        array = c.small(array, 5)
    return array, at, [i + (i >= at) for i in range(len(batch))]


class Places:
    """How an array with window dimensions of |sizes|, batch dimensions of |batched| and |single| others is addressed."""

    def __init__(self, c, sizes, full, batched, single):
        rng = c.rng
        roles = [("w", i) for i in range(len(sizes))]
        for i in range(len(batched)):
            roles.insert(rng.randint(0, len(roles)), ("b", i))
        for i in range(single):
            roles.insert(rng.randint(0, len(roles)), ("s", i))
        self.dims = [full[i] if r == "w" else batched[i] if r == "b" else rng.choice([1, 2, 5, 9]) for r, i in roles]
        self.sizes = [sizes[i] if r == "w" else 1 for r, i in roles]
        self.collapsed = [at for at, (r, _) in enumerate(roles) if r == "s"]
        self.batch = [(at, i) for at, (r, i) in enumerate(roles) if r == "b"]
        free = [at for at, (r, _) in enumerate(roles) if r != "b"]
        self.map = rng.sample(free, rng.randint(1, len(free))) if free else []


@maker()
def gather(c, kind, dims, depth, exact):
    rng = c.rng
    offset = sorted(rng.sample(range(len(dims)), rng.randint(0, len(dims))))
    batch = [i for i in range(len(dims)) if i not in offset]
    batched = rng.sample(range(len(batch)), rng.choice([0, 0, 0, min(1, len(batch)), len(batch)]))
    sizes = [dims[i] for i in offset]
    places = Places(c, sizes, [s + rng.choice([0, 0, 1, 3]) for s in sizes], [dims[batch[i]] for i in batched], rng.choice([0, 1, 1, 2]))
    if not places.map or math.prod(places.dims) > 4 * c.shared.most or len(places.dims) > 6 or 0 in places.dims:
        return None
    a = c.make(kind, places.dims, depth, exact)
    indices, vector, positions = indices_of(c, [dims[i] for i in batch], len(places.map), depth)
    text = (f"offset_dims={listed(offset)}, collapsed_slice_dims={listed(places.collapsed)}, start_index_map={listed(places.map)}, "
            f"index_vector_dim={vector}, slice_sizes={listed(places.sizes)}")
    if places.batch:
        text += (f", operand_batching_dims={listed(at for at, _ in places.batch)}, "
                 f"start_indices_batching_dims={listed(positions[batched[i]] for _, i in places.batch)}")
    return c.moved(a, dims, f"gather({a.name}, {indices.name}), {text}")


@maker()
def scatter(c, kind, dims, depth, exact):
    """Updates that commute, anywhere."""
    if not dims or kind == "pred" or 0 in dims or len(dims) > 5:
        return None
    rng = c.rng
    roles = [rng.choice("wwisb" if rng.random() < 0.3 else "wwi") for _ in dims]
    windows, batching = [i for i, r in enumerate(roles) if r == "w"], [i for i, r in enumerate(roles) if r == "b"]
    inserted = [i for i, r in enumerate(roles) if r in "is"]
    free = [i for i, r in enumerate(roles) if r != "b"]
    if not free:
        return None
    into = rng.sample(free, rng.randint(1, len(free)))
    batch = [dims[i] for i in batching]
    for _ in range(rng.choice([0, 1, 1, 2])):
        batch.append(rng.choice([0, 1, 2, 3, 5]))
    sizes = [rng.choice([dims[i], max(1, dims[i] - 1), 1]) for i in windows]
    where = sorted(rng.sample(range(len(batch) + len(sizes)), len(sizes)))  # of the window's dimensions in the updates
    rest, window = iter(batch), iter(sizes)
    update_dims = [next(window) if i in where else next(rest) for i in range(len(batch) + len(sizes))]
    count = math.prod(update_dims)
    if count > 4 * c.shared.most:
        return None
    indices, vector, positions = indices_of(c, batch, len(into), depth)
    a, u = c.make(kind, dims, depth), c.make(kind, update_dims, depth)
    op = rng.choice(["add", "maximum", "minimum"] + ([] if kind in EXACT else ["multiply", "xor", rng.choice(list(ODD_INTEGER))]))
    if kind in EXACT:
        most = EXACT[kind] // (count + 1)
        if op == "add" and most < 1:
            op = "maximum"
        a, u = (c.small(a, most), c.small(u, most)) if op == "add" else (a, u)
    bound = EXACT.get(kind) if op == "add" else c.most(a, u) if op in ("maximum", "minimum") else None
    text = (f"update_window_dims={listed(where)}, inserted_window_dims={listed(inserted)}, scatter_dims_to_operand_dims={listed(into)}, "
            f"index_vector_dim={vector}")
    if batching:
        text += f", input_batching_dims={listed(batching)}, scatter_indices_batching_dims={listed(positions[:len(batching)])}"
    return c.node(kind, dims, f"scatter({a.name}, {indices.name}, {u.name}), {text}, to_apply={combiner(c, op, kind)}", bound)


@maker()
def scatter_rows(c, kind, dims, depth, exact):
    """Rows replaced, each once."""
    if not dims or 0 in dims:
        return None
    count = c.rng.choice([0, 1, 2, 5, 9])
    a, u = c.make(kind, dims, depth), c.make(kind, (count,) + dims[1:], depth)
    i = c.node("s32", (count, 1), "iota(), iota_dimension=0", 100)
    start = c.scalar("s32", c.rng.randint(-2, dims[0]))
    start = c.node("s32", (count, 1), f"broadcast({start.name}), dimensions={{}}", 100)
    i = c.node("s32", (count, 1), f"add({i.name}, {start.name})")
    apply = c.shared.function(f"second_{kind}", [f"a = {kind}[] parameter(0)", f"ROOT b = {kind}[] parameter(1)"])
    return c.node(kind, dims, f"scatter({a.name}, {i.name}, {u.name}), update_window_dims={listed(range(1, len(dims)))}, "
                  "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, "
                  f"to_apply={apply}", c.most(a, u))


@maker()
def scatter_both(c, kind, dims, depth, exact):
    """Two arrays at the same places."""
    if not dims or 0 in dims or kind in EXACT or kind == "pred":
        return None
    other, count = c.rng.choice(INTS), c.rng.choice([1, 3, 6])
    arrays = [c.make(k, dims, depth) for k in (kind, other)]
    updates = [c.make(k, (count,) + dims[1:], depth) for k in (kind, other)]
    i = c.small(c.make("s32", (count, 1), depth), dims[0])
    name = c.shared.function(f"scattered_{kind}_{other}", [
        f"a = {kind}[] parameter(0)", f"i = {other}[] parameter(1)", f"b = {kind}[] parameter(2)", f"j = {other}[] parameter(3)",
        f"first = {kind}[] add(a, b)", f"second = {other}[] maximum(i, j)", f"ROOT r = ({kind}[], {other}[]) tuple(first, second)"])
    pair = c.line(f"({shape_text(kind, dims)}, {shape_text(other, dims)})",
                  f"scatter({arrays[0].name}, {arrays[1].name}, {i.name}, {updates[0].name}, {updates[1].name}), "
                  f"update_window_dims={listed(range(1, len(dims)))}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, "
                  f"index_vector_dim=1, to_apply={name}")
    c.node(other, dims, f"get-tuple-element({pair}), index=1")
    return c.node(kind, dims, f"get-tuple-element({pair}), index=0")
