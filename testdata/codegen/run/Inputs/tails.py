"""Extents around the numbers of lanes: every remainder of a vector loop, contiguous, strided, reversed, reduced, of every width."""

import sys

from modules import FLOATS, INTEGERS, Module, wrapped

# f32 and s8 see every extent, the others those beside a number of lanes.
ALL_EXTENTS = list(range(0, 18)) + [31, 32, 33, 63, 64, 65]
SOME_EXTENTS = [0, 1, 7, 17, 33, 65]
ADD = """add_%s {
  a = %s[] parameter(0)
  b = %s[] parameter(1)
  ROOT s = %s[] add(a, b)
}
"""


def extents_of(kind):
    return ALL_EXTENTS if kind in ("f32", "s8") else SOME_EXTENTS


def elementwise(kind):
    """3x + y on two arrays of each extent; sums are exact in every type but the narrow integers, which wrap."""
    module = Module(f"elementwise_{kind}")
    for extent in extents_of(kind):
        xs, ys = [i % 7 for i in range(extent)], [(i * 5) % 8 for i in range(extent)]
        x, y = module.parameter(kind, [extent], xs), module.parameter(kind, [extent], ys)
        three = module.op(kind, [], "constant(3)")
        threes = module.op(kind, [extent], f"broadcast({three}), dimensions={{}}")
        product = module.op(kind, [extent], f"multiply({threes}, {x})")
        total = module.op(kind, [extent], f"add({product}, {y})")
        wanted = [3 * a + b for a, b in zip(xs, ys)]
        module.result(total, kind, [extent], [wrapped(kind, v) for v in wanted] if kind in INTEGERS else wanted)
    module.run()


def moved(kind):
    """Reverse, every third element, a column of a matrix, a transposed matrix."""
    module = Module(f"moved_{kind}")
    for extent in extents_of(kind):
        values = [i % 8 for i in range(extent)]
        x = module.parameter(kind, [extent], values)
        module.result(module.op(kind, [extent], f"reverse({x}), dimensions={{0}}"), kind, [extent], values[::-1])
        thirds = values[::3]
        module.result(module.op(kind, [len(thirds)], f"slice({x}), slice={{[0:{extent}:3]}}"), kind, [len(thirds)], thirds)
        square = [(i * 3 + i // 5) % 8 for i in range(extent * 5)]
        m = module.parameter(kind, [extent, 5], square)
        module.result(module.op(kind, [extent, 1], f"slice({m}), slice={{[0:{extent}], [2:3]}}"), kind, [extent, 1], square[2::5])
        turned = [square[i * 5 + j] for j in range(5) for i in range(extent)]
        module.result(module.op(kind, [5, extent], f"transpose({m}), dimensions={{1,0}}"), kind, [5, extent], turned)
    module.run()


def reduced(kind):
    """Sums of rows and of columns, from an init value other than zero."""
    module = Module(f"reduced_{kind}", ADD % (kind, kind, kind, kind))
    init = module.parameter(kind, [], [2])
    exact = (lambda v: wrapped(kind, v)) if kind in INTEGERS else (lambda v: v)
    for extent in extents_of(kind):
        values = [(i * 3 + i // 7) % 3 for i in range(extent * 3)]
        x = module.parameter(kind, [3, extent], values)
        rows = module.op(kind, [3], f"reduce({x}, {init}), dimensions={{1}}, to_apply=add_{kind}")
        module.result(rows, kind, [3], [exact(2 + sum(values[r * extent:(r + 1) * extent])) for r in range(3)])
        columns = module.op(kind, [extent], f"reduce({x}, {init}), dimensions={{0}}, to_apply=add_{kind}")
        module.result(columns, kind, [extent], [exact(2 + sum(values[c::extent])) for c in range(extent)])
        every = module.op(kind, [], f"reduce({x}, {init}), dimensions={{0,1}}, to_apply=add_{kind}")
        module.result(every, kind, [], [exact(2 + sum(values))])
    module.run()


for each in INTEGERS + FLOATS:
    {"elementwise": elementwise, "moved": moved, "reduced": reduced}[sys.argv[3]](each)
