"""Stores along one dim, loads along another: square blocks, their edges, what is computed with them, strides inside of rows."""

import itertools
import math

from modules import Module, indices

EXTENTS = [1, 7, 15, 17, 33, 100]
KINDS = ["pred", "s8", "bf16", "f16", "f32", "f64"]


def values_of(kind, count, factor=7):
    return [bool(i * factor % 5 < 2) if kind == "pred" else i * factor % 61 for i in range(count)]


def at(shape, values, index):
    place = 0
    for extent, i in zip(shape, index):
        place = place * extent + i
    return values[place]


def transposed(shape, values, order):
    """The shape and the values of a transpose."""
    turned = [shape[d] for d in order]
    return turned, [at(shape, values, [index[order.index(d)] for d in range(len(order))]) for index in indices(turned)]


def permutation(order):
    return f"dimensions={{{','.join(map(str, order))}}}"


def plain(kind):
    module = Module(f"plain_{kind}")
    for shape in itertools.product(EXTENTS, EXTENTS):
        values = values_of(kind, math.prod(shape))
        x = module.parameter(kind, shape, values)
        turned, wanted = transposed(shape, values, [1, 0])
        module.result(module.op(kind, turned, f"transpose({x}), dimensions={{1,0}}"), kind, turned, wanted)
    module.run()


def permuted(kind):
    """Every order of three dims, and those of attention."""
    module = Module(f"permuted_{kind}")
    cases = [((5, 18, 35), list(order)) for order in itertools.permutations(range(3))]
    cases += [((2, 19, 3, 16), [0, 2, 1, 3]), ((2, 3, 19, 16), [0, 1, 3, 2]), ((2, 17, 3, 33), [3, 1, 2, 0])]
    for shape, order in cases:
        values = values_of(kind, math.prod(shape))
        x = module.parameter(kind, shape, values)
        turned, wanted = transposed(shape, values, order)
        module.result(module.op(kind, turned, f"transpose({x}), {permutation(order)}"), kind, turned, wanted)
    module.run()


def fused(kind):
    """transpose(x) + transpose(y) + bias along either dim + z."""
    module = Module(f"fused_{kind}")
    for shape, bias_dim in itertools.product([(7, 33), (17, 16), (33, 15), (100, 17)], (0, 1)):
        xs, ys = values_of(kind, math.prod(shape)), values_of(kind, math.prod(shape), 3)
        turned, x_values = transposed(shape, xs, [1, 0])
        _, y_values = transposed(shape, ys, [1, 0])
        zs, bs = values_of(kind, math.prod(shape), 11), values_of(kind, turned[bias_dim], 5)
        x, y = module.parameter(kind, shape, xs), module.parameter(kind, shape, ys)
        z, b = module.parameter(kind, turned, zs), module.parameter(kind, [turned[bias_dim]], bs)
        total = module.op(kind, turned, f"transpose({x}), dimensions={{1,0}}")
        more = module.op(kind, turned, f"transpose({y}), dimensions={{1,0}}")
        wide = module.op(kind, turned, f"broadcast({b}), dimensions={{{bias_dim}}}")
        for term in (more, wide, z):
            total = module.op(kind, turned, f"add({total}, {term})")
        places = list(indices(turned))
        wanted = [p + q + bs[place[bias_dim]] + r for p, q, r, place in zip(x_values, y_values, zs, places)]
        module.result(total, kind, turned, [(v + 128) % 256 - 128 if kind == "s8" else v for v in wanted])
    module.run()


def strided(kind):
    """Strides 2 to 5 and reversed, alone and below a transpose; the buffer ends with the last element taken."""
    module = Module(f"strided_{kind}")
    for stride, extent in itertools.product([2, 3, 4, 5], [1, 16, 33, 64, 70]):
        size = (extent - 1) * stride + 1
        values = values_of(kind, 3 * size)
        x = module.parameter(kind, [3, size], values)
        wanted = [values[r * size + i * stride] for r in range(3) for i in range(extent)]
        module.result(module.op(kind, [3, extent], f"slice({x}), slice={{[0:3], [0:{size}:{stride}]}}"), kind, [3, extent], wanted)
    for extent in [1, 16, 33, 70]:
        values = values_of(kind, 18 * extent)
        x = module.parameter(kind, [18, extent], values)
        reverse = module.op(kind, [18, extent], f"reverse({x}), dimensions={{1}}")
        backward = [values[r * extent + extent - 1 - i] for r in range(18) for i in range(extent)]
        module.result(reverse, kind, [18, extent], backward)
        turned, wanted = transposed([18, extent], backward, [1, 0])
        module.result(module.op(kind, turned, f"transpose({reverse}), dimensions={{1,0}}"), kind, turned, wanted)
    module.run()


for each in KINDS:
    plain(each)
    permuted(each)
    strided(each)
    if each != "pred":
        fused(each)
