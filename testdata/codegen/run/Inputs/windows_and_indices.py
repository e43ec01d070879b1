"""Padding, concatenation, windows, gathers, scatters and dynamic slices against their definitions, out-of-range indices included."""

import itertools

from modules import Module, indices

ADD = """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}
keep {
  a = f32[] parameter(0)
  ROOT b = f32[] parameter(1)
}
pair {
  a = f32[] parameter(0)
  b = s32[] parameter(1)
  c = f32[] parameter(2)
  d = s32[] parameter(3)
  greater = pred[] compare(a, c), direction=GT
  same = pred[] compare(a, c), direction=EQ
  before = pred[] compare(b, d), direction=LT
  tie = pred[] and(same, before)
  first = pred[] or(greater, tie)
  best = f32[] select(first, a, c)
  where = s32[] select(first, b, d)
  ROOT r = (f32[], s32[]) tuple(best, where)
}
"""


def pads():
    """Low, high and interior padding of either sign; an element of the operand stands at low + i * (interior + 1)."""
    module = Module("pads")
    zero = module.parameter("f32", [], [-5])
    for extent in (0, 1, 2, 7, 16, 33):
        values = [i + 1 for i in range(extent)]
        x = module.parameter("f32", [extent], values)
        for low, high, interior in ((1, 2, 0), (0, 0, 3), (-1, 0, 0), (0, -2, 1), (-3, 4, 2), (5, -4, 0), (-2, -2, 3), (2, 2, 0)):
            size = low + high + extent + interior * max(extent - 1, 0)
            if size < 0:
                continue
            wanted = [-5] * size
            for i, value in enumerate(values):
                if 0 <= low + i * (interior + 1) < size:
                    wanted[low + i * (interior + 1)] = value
            name = module.op("f32", [size], f"pad({x}, {zero}), padding={low}_{high}_{interior}")
            module.result(name, "f32", [size], wanted)
    square = [i + 1 for i in range(12)]
    x = module.parameter("f32", [3, 4], square)
    wanted = [-5] * (4 * 9)
    for i, j in indices([3, 4]):
        if i - 1 >= 0:
            wanted[(i - 1) * 9 + 2 * j + 1] = square[i * 4 + j]
    name = module.op("f32", [4, 9], f"pad({x}, {zero}), padding=-1_2x1_1_1")
    module.result(name, "f32", [4, 9], wanted)
    module.run()


def concatenations():
    module = Module("concatenations")
    for extents in ((1,), (0, 3), (5, 0, 1), (16, 1, 17), (3, 3, 3, 3), (64, 65)):
        parts, names = [], []
        for n, extent in enumerate(extents):
            parts.append([100 * n + i for i in range(extent * 2)])
            names.append(module.parameter("s32", [2, extent], parts[-1]))
        total = sum(extents)
        wanted = [v for row in range(2) for part, extent in zip(parts, extents) for v in part[row * extent:(row + 1) * extent]]
        name = module.op("s32", [2, total], f"concatenate({', '.join(names)}), dimensions={{1}}")
        module.result(name, "s32", [2, total], wanted)
        wanted = [v for part, extent in zip(parts, extents) for v in part]
        turned = [module.op("s32", [extent, 2], f"reshape({name})") for name, extent in zip(names, extents)]
        name = module.op("s32", [total, 2], f"concatenate({', '.join(turned)}), dimensions={{0}}")
        module.result(name, "s32", [total, 2], wanted)
    module.run()


def dynamic_slices():
    """Starts are clamped so that the slice lies inside, for reading and for writing."""
    module = Module("dynamic_slices")
    values = [i for i in range(70)]
    x = module.parameter("f32", [10, 7], values)
    update = module.parameter("f32", [3, 2], [-1, -2, -3, -4, -5, -6])
    for row, column in ((0, 0), (4, 3), (-1, 2), (9, 6), (2147483647, -2147483648), (7, 5)):
        starts = [module.parameter("s32", [], [start]) for start in (row, column)]
        i, j = min(max(row, 0), 7), min(max(column, 0), 5)
        name = module.op("f32", [3, 2], f"dynamic-slice({x}, {starts[0]}, {starts[1]}), dynamic_slice_sizes={{3,2}}")
        module.result(name, "f32", [3, 2], [values[(i + a) * 7 + j + b] for a, b in indices([3, 2])])
        wanted = list(values)
        for a, b in indices([3, 2]):
            wanted[(i + a) * 7 + j + b] = -1 - 2 * a - b
        name = module.op("f32", [10, 7], f"dynamic-update-slice({x}, {update}, {starts[0]}, {starts[1]})")
        module.result(name, "f32", [10, 7], wanted)
    wide = module.parameter("u64", [], [2**64 - 1])
    small = module.parameter("s8", [], [-128])
    for start, i in ((wide, 9), (small, 0)):
        zero = module.op("u64" if start == wide else "s8", [], "constant(0)")
        name = module.op("f32", [1, 7], f"dynamic-slice({x}, {start}, {zero}), dynamic_slice_sizes={{1,7}}")
        module.result(name, "f32", [1, 7], values[i * 7:i * 7 + 7])
    module.run()


def gathers():
    """Rows and elements by index; indices out of range are clamped."""
    module = Module("gathers")
    for kind in ("f32", "s8", "bf16", "f64"):
        table = [i % 100 for i in range(60)]
        x = module.parameter(kind, [12, 5], table)
        rows = [0, 11, 3, -1, 12, -2147483648, 2147483647, 5, 5, 7, 1]
        r = module.parameter("s32", [len(rows)], rows)
        name = module.op(kind, [len(rows), 5], f"gather({x}, {r}), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
                         "index_vector_dim=1, slice_sizes={1,5}")
        module.result(name, kind, [len(rows), 5], [v for row in rows for v in table[min(max(row, 0), 11) * 5:][:5]])
        pairs = [(0, 0), (11, 4), (3, 9), (-4, 2), (6, -6), (100, 100)] * 3
        p = module.parameter("s64", [len(pairs), 2], [v for pair in pairs for v in pair])
        name = module.op(kind, [len(pairs)], f"gather({x}, {p}), offset_dims={{}}, collapsed_slice_dims={{0,1}}, start_index_map={{0,1}}, "
                         "index_vector_dim=1, slice_sizes={1,1}")
        wanted = [table[min(max(i, 0), 11) * 5 + min(max(j, 0), 4)] for i, j in pairs]
        module.result(name, kind, [len(pairs)], wanted)
        windows = module.op(kind, [len(rows), 2, 5], f"gather({x}, {r}), offset_dims={{1,2}}, collapsed_slice_dims={{}}, start_index_map={{0}}, "
                            "index_vector_dim=1, slice_sizes={2,5}")
        module.result(windows, kind, [len(rows), 2, 5], [v for row in rows for v in table[min(max(row, 0), 10) * 5:][:10]])
    none = module.parameter("s32", [0], [])
    name = module.op("f64", [0, 5], f"gather({x}, {none}), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
                     "index_vector_dim=1, slice_sizes={1,5}")
    module.result(name, "f64", [0, 5], [])
    module.run()


def scatters():
    """Updates whose window leaves the operand are dropped; several at one place combine in order."""
    module = Module("scatters", ADD)
    table = [i for i in range(36)]
    x = module.parameter("f32", [12, 3], table)
    rows = [0, 11, 3, -1, 12, -2147483648, 2147483647, 3, 3]
    r = module.parameter("s32", [len(rows)], rows)
    updates = [(i + 1) * 1000 for i in range(len(rows) * 3)]
    u = module.parameter("f32", [len(rows), 3], updates)
    for function in ("add", "keep", "max"):
        wanted = list(table)
        for n, row in enumerate(rows):
            for j in range(3):
                if 0 <= row < 12:
                    old, new = wanted[row * 3 + j], updates[n * 3 + j]
                    wanted[row * 3 + j] = {"add": old + new, "keep": new, "max": max(old, new)}[function]
        name = module.op("f32", [12, 3], f"scatter({x}, {r}, {u}), update_window_dims={{1}}, inserted_window_dims={{0}}, "
                         f"scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={function}")
        module.result(name, "f32", [12, 3], wanted)
    window = module.parameter("f32", [len(rows), 2, 3], [1] * (len(rows) * 6))
    wanted = list(table)
    for row in rows:
        if 0 <= row <= 10:  # the whole window or nothing
            for k in range(6):
                wanted[row * 3 + k] += 1
    name = module.op("f32", [12, 3], f"scatter({x}, {r}, {window}), update_window_dims={{1,2}}, inserted_window_dims={{}}, "
                     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add")
    module.result(name, "f32", [12, 3], wanted)
    module.run()


def windows():
    """Sums and maxima over windows with stride, padding and dilation; what lies outside counts as the init value."""
    module = Module("windows", ADD)
    zero, low = module.op("f32", [], "constant(0)"), module.op("f32", [], "constant(-inf)")
    for extent in (1, 2, 8, 17, 40):
        values = [(i * 7) % 11 for i in range(extent)]
        x = module.parameter("f32", [extent], values)
        for size, stride, before, after, base, dilation in ((3, 1, 1, 1, 1, 1), (2, 2, 0, 0, 1, 1), (3, 2, 2, 0, 1, 1), (2, 1, 0, 0, 1, 3),
                                                            (3, 1, 2, 2, 2, 1), (1, 3, 0, 0, 1, 1), (4, 1, 3, 0, 1, 1)):
            padded = before + after + (extent - 1) * base + 1
            reach = (size - 1) * dilation + 1
            count = (padded - reach) // stride + 1 if padded >= reach else 0
            spread = {before + i * base: value for i, value in enumerate(values)}
            found = [[spread.get(o * stride + k * dilation) for k in range(size)] for o in range(count)]
            window = f"window={{size={size} stride={stride} pad={before}_{after} lhs_dilate={base} rhs_dilate={dilation}}}"
            name = module.op("f32", [count], f"reduce-window({x}, {zero}), {window}, to_apply=add")
            module.result(name, "f32", [count], [sum(v for v in values_in if v is not None) for values_in in found])
            name = module.op("f32", [count], f"reduce-window({x}, {low}), {window}, to_apply=max")
            module.result(name, "f32", [count], [max([v for v in values_in if v is not None], default=float("-inf")) for values_in in found])
    module.run()


def cumulative_windows():
    """Sums and maxima of all before an element, or behind it, itself included; along rows and along columns."""
    for kind in ("f32", "f64", "bf16", "s32", "s8", "u16"):
        functions = ADD.replace("f32", kind)
        module = Module(f"cumulative_{kind}", functions[:functions.index("pair")])
        start = {"add": module.op(kind, [], "constant(3)"), "max": module.op(kind, [], "constant(0)"), "keep": module.op(kind, [], "constant(1)")}
        for extent in (2, 3, 8, 15, 16, 17, 33, 64, 70):
            values = [(i * 7 + i // 5) % 4 for i in range(extent * 2)]
            for dim, shape in ((1, [2, extent]), (0, [extent, 2])):
                x = module.parameter(kind, shape, values)
                lines = [values[k * extent:(k + 1) * extent] if dim == 1 else values[k::2] for k in range(2)]
                for function, backward in itertools.product(("add", "max", "keep"), (False, True)):
                    found = [[apply_cumulative(function, line, i, backward) for i in range(extent)] for line in lines]
                    wanted = [v for line in found for v in line] if dim == 1 else [line[i] for i in range(extent) for line in found]
                    pads = f"0_{extent - 1}" if backward else f"{extent - 1}_0"
                    size, pad = (f"1x{extent}", f"0_0x{pads}") if dim == 1 else (f"{extent}x1", f"{pads}x0_0")
                    name = module.op(kind, shape, f"reduce-window({x}, {start[function]}), window={{size={size} pad={pad}}}, to_apply={function}")
                    module.result(name, kind, shape, wanted)
        module.run()


def apply_cumulative(function, line, i, backward):
    part = line[i:] if backward else line[:i + 1]
    return {"add": 3 + sum(part), "max": max(part), "keep": part[-1]}[function]


def cumulative_arguments():
    """Two arrays at once: the first of the largest so far."""
    module = Module("cumulative_arguments", ADD)
    low, most = module.op("f32", [], "constant(-inf)"), module.op("s32", [], "constant(2147483647)")
    for extent in (2, 16, 37):
        values = [(i * 5 + i // 3) % 7 for i in range(extent)]
        x, places = module.parameter("f32", [extent], values), module.op("s32", [extent], "iota(), iota_dimension=0")
        both = module.line(f"(f32[{extent}], s32[{extent}])",
                           f"reduce-window({x}, {places}, {low}, {most}), window={{size={extent} pad={extent - 1}_0}}, to_apply=pair")
        best = module.op("f32", [extent], f"get-tuple-element({both}), index=0")
        where = module.op("s32", [extent], f"get-tuple-element({both}), index=1")
        module.result(best, "f32", [extent], [max(values[:i + 1]) for i in range(extent)])
        module.result(where, "s32", [extent], [values.index(max(values[:i + 1])) for i in range(extent)])
    module.run()


def arguments_of_maxima():
    """The first of the largest, in rows of every extent."""
    module = Module("arguments_of_maxima", ADD)
    low, most = module.op("f32", [], "constant(-inf)"), module.op("s32", [], "constant(2147483647)")
    for extent in list(range(1, 18)) + [33, 64, 65]:
        values = [(i * 5 + i // 3) % 7 for i in range(extent * 4)]
        x = module.parameter("f32", [4, extent], values)
        for dim, count, length in ((1, 4, extent), (0, extent, 4)):
            places = module.op("s32", [4, extent], f"iota(), iota_dimension={dim}")
            both = module.line(f"(f32[{count}], s32[{count}])", f"reduce({x}, {places}, {low}, {most}), dimensions={{{dim}}}, to_apply=pair")
            rows = [values[i * extent:(i + 1) * extent] if dim == 1 else values[i::extent] for i in range(count)]
            best = module.op("f32", [count], f"get-tuple-element({both}), index=0")
            where = module.op("s32", [count], f"get-tuple-element({both}), index=1")
            module.result(best, "f32", [count], [max(row) for row in rows])
            module.result(where, "s32", [count], [row.index(max(row)) for row in rows])
            assert all(len(row) == length for row in rows)
    module.run()


for test in (pads, concatenations, dynamic_slices, gathers, scatters, windows, cumulative_windows, cumulative_arguments, arguments_of_maxima):
    test()
