"""Sums of many rows: every element counts once, wherever sums begin anew, and rounding does not grow with the rows."""

import struct

from modules import Module

ADD = "".join(f"add_{kind} {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n  ROOT r = {kind}[] add(a, b)\n}}\n"
              for kind in ("f32", "f64"))


def reduced(module, kind, shape, dims, name):
    zero = module.op(kind, [], "constant(0)")
    left = [extent for d, extent in enumerate(shape) if d not in dims]
    axes = ",".join(map(str, dims))
    return left, module.op(kind, left, f"reduce({name}, {zero}), dimensions={{{axes}}}, to_apply=add_{kind}")


def sums(shape, dims, values):
    """What |values|, row-major, sum to along |dims|."""
    totals, strides = {}, [0] * len(shape)
    stride = 1
    for d in reversed(range(len(shape))):
        strides[d], stride = stride, stride * shape[d]
    for place, value in enumerate(values):
        key = tuple(place // strides[d] % shape[d] for d in range(len(shape)) if d not in dims)
        totals[key] = totals.get(key, 0) + value
    return [totals[key] for key in sorted(totals)]


def whole_numbers(kind):
    """Exact in any order: rows beside multiples of chains and of strips, columns beside those of lanes."""
    module = Module(f"whole_{kind}", ADD)
    shapes = [((rows, columns), (0,)) for rows in (15, 16, 17, 255, 257, 514, 1023) for columns in (1, 3, 8, 17)]
    shapes += [((37, 5, 41), (0, 2)), ((9, 300, 6), (1,)), ((9, 300, 6), (0, 1)), ((2, 7, 1100), (0, 2)), ((1, 33000), (1,))]
    for number, (shape, dims) in enumerate(shapes):
        count = 1
        for extent in shape:
            count *= extent
        values = [(i * 11 + number) % 29 - 9 for i in range(count)]
        left, total = reduced(module, kind, shape, dims, module.parameter(kind, shape, values))
        module.result(total, kind, left, sums(shape, dims, values))
    module.run(threads=(None, 2))


def equal_tenths():
    """Equal elements round the same way step for step: one chain of 4096 of them is off by 4e-5."""
    module = Module("tenths", ADD)
    tenth = struct.unpack("<f", struct.pack("<f", 0.1))[0]
    for shape, dims in (((4096, 8), (0,)), ((5408, 16), (0,)), ((3001, 130), (0,)), ((8, 20, 20, 16), (0, 1, 2)),
                        ((600, 2, 70), (0, 2)), ((3, 4096, 2), (1,)), ((520, 1100), (0,)), ((300000,), (0,))):
        count = 1
        for extent in shape:
            count *= extent
        left, total = reduced(module, "f32", shape, dims, module.parameter("f32", shape, [tenth] * count))
        results = 1
        for extent in left:
            results *= extent
        module.result(total, "f32", left, [count // results * tenth] * results)
    module.run(rtol=2.5e-6)


for some_kind in ("f32", "f64"):
    whole_numbers(some_kind)
equal_tenths()
