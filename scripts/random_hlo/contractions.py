"""Dots and convolutions."""

import math

from .core import EXACT, listed, maker

NARROWER = {"s32": ["s8", "s16"], "u32": ["u8"], "s64": ["s32"], "f32": ["bf16", "f16"], "f64": ["f32"]}  # operands of sums in more bits


def operand_kind(c, kind):
    return c.rng.choice(NARROWER[kind]) if kind in NARROWER and c.rng.random() < 0.25 else kind


def terms(c, kind, a, b, count):
    """|a|, |b| such that sums of |count| products are exact, and the bound of those."""
    if kind not in EXACT:
        return a, b, None
    most = math.isqrt(EXACT[kind] // max(count, 1))
    return (c.small(a, most), c.small(b, most), EXACT[kind]) if most else (c.full(a.kind, a.dims, 0), b, 0)


@maker(2)
def dot(c, kind, dims, depth, exact):
    if kind == "pred":
        return None
    rng = c.rng
    batch, free = sorted(rng.randint(0, len(dims)) for _ in range(2))
    if rng.random() < 0.6:
        batch, free = 0, min(free, len(dims))
    inner = [rng.choice([0, 1, 2, 3, 7, 8, 17, 33]) for _ in range(rng.choice([0, 1, 1, 1, 2]))]
    if c.shared.most > 1000 and rng.random() < 0.5:
        inner = [rng.choice([64, 100, 129, 300])]

    def side(kept):
        tags = [("b", i) for i in range(batch)] + [("k", i) for i in range(len(inner))] + [("f", i) for i in kept]
        order = rng.sample(tags, len(tags))
        frees = iter(kept)
        size = [dims[next(frees)] if t == "f" else dims[i] if t == "b" else inner[i] for t, i in order]
        return size, [order.index(("b", i)) for i in range(batch)], [order.index(("k", i)) for i in range(len(inner))]
    left, lb, lc = side(range(batch, free))
    right, rb, rc = side(range(free, len(dims)))
    if max(math.prod(left), math.prod(right)) > 4 * c.shared.most or math.prod(dims) * math.prod(inner) > 60 * c.shared.most:
        return None
    source = operand_kind(c, kind)
    a, b, bound = terms(c, kind, c.make(source, left, depth), c.make(source, right, depth), math.prod(inner))
    text = f"lhs_batch_dims={listed(lb)}, rhs_batch_dims={listed(rb)}, " if batch else ""
    return c.node(kind, dims, f"dot({a.name}, {b.name}), {text}lhs_contracting_dims={listed(lc)}, rhs_contracting_dims={listed(rc)}", bound)


def groups_of(c, out, each):
    """(attribute, sizes of the source that are known, input features of the filters)"""
    divisors = [g for g in range(1, out["f"] + 1) if out["f"] % g == 0]
    groups, pick = c.rng.choice(divisors), c.rng.random()
    if pick < 0.3 and groups > 1:
        return f", feature_group_count={groups}", {"b": out["b"], "f": each * groups}
    if pick < 0.4 and groups > 1:
        return f", batch_group_count={groups}", {"b": out["b"] * groups, "f": each}
    return "", {"b": out["b"], "f": each}


@maker(2)
def convolution(c, kind, dims, depth, exact):
    if kind not in ("f32", "f64", "f16", "bf16", "s32", "s8", "u8", "s64") or not 2 <= len(dims) <= 5 or 0 in dims:
        return None
    rng, spatial = c.rng, len(dims) - 2
    names = "bf" + "012"[:spatial]
    outs, ins = ("".join(rng.sample(names, len(names))) for _ in range(2))
    kernel = "".join(rng.sample("io" + "012"[:spatial], len(names)))
    out, each = dict(zip(outs, dims)), rng.choice([1, 2, 3, 8])
    groups, source = groups_of(c, out, each)
    filters, window = {"i": each, "o": out["f"]}, []
    for s in names[2:]:
        size, stride, left, right = rng.choice([1, 2, 3]), rng.choice([1, 1, 2]), rng.choice([1, 1, 2]), rng.choice([1, 1, 2])
        o = rng.choice([max(1, out[s] * stride // left), rng.randint(1, 7)])
        rest = (out[s] - 1) * stride + (size - 1) * right + 1 - ((o - 1) * left + 1)
        low = rng.choice([rest // 2, rest // 2, rng.randint(min(0, rest), max(0, rest))])
        source[s], filters[s] = o, size
        window.append((size, stride, f"{low}_{rest - low}", left, right, rng.choice([0, 0, 0, 1])))
    x, k = [source[s] for s in ins], [filters[s] for s in kernel]
    if max(math.prod(x), math.prod(k)) > 4 * c.shared.most:
        return None
    operand = operand_kind(c, kind)
    # what an empty place, between elements or beside them, times NaN is, depends on whether it is multiplied at all
    filters = c.number(c.make(operand, k, depth))
    a, b, bound = terms(c, kind, c.make(operand, x, depth), filters, each * math.prod(w[0] for w in window))
    text = " ".join(f"{key}={'x'.join(str(w[i]) for w in window)}"
                    for i, key in enumerate(["size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"])) if window else ""
    return c.node(kind, dims, f"convolution({a.name}, {b.name})" + (f", window={{{text}}}" if text else "")
                  + f", dim_labels={ins}_{kernel}->{outs}{groups}", bound)
