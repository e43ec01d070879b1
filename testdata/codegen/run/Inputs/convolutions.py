"""Convolutions against their definition: dilated inputs, whose phases meet different taps, strides, reversal, groups, layouts.  Elements are
small integers: every order of summing gives the same sum."""

from modules import Module, indices


def convolve(x, w, spec):
    """x by (batch, position, feature), w by (tap, input feature, output feature), as functions; the result as a dictionary."""
    n, h, ci, co, k = spec["n"], spec["h"], spec["ci"], spec["co"], spec["k"]
    groups, batch_groups = spec.get("groups", 1), spec.get("batch_groups", 1)
    stride, base, dilation, reversal = (spec.get(name, value) for name, value in (("stride", 1), ("base", 1), ("dilation", 1), ("reversal", 0)))
    low, high = spec["pad"]
    size = ((h - 1) * base + 1 + low + high - ((k - 1) * dilation + 1)) // stride + 1
    result = {}
    for b in range(n // batch_groups):
        for i, j, f in indices([size, size, co]):
            group, batch = f // (co // groups), b + f // (co // batch_groups) * (n // batch_groups)
            total = 0
            for s, t in indices([k, k]):
                p, q = i * stride + s * dilation - low, j * stride + t * dilation - low
                if p % base or q % base or not (0 <= p < h * base and 0 <= q < h * base):
                    continue
                at = (k - 1 - s, k - 1 - t) if reversal else (s, t)
                total += sum(x(batch, p // base, q // base, group * (ci // groups) + c) * w(at[0], at[1], c, f) for c in range(ci // groups))
            result[b, i, j, f] = total
    return size, result


def run(name, specs):
    module = Module(name)
    for spec in specs:
        n, h, ci, co, k = spec["n"], spec["h"], spec["ci"], spec["co"], spec["k"]
        groups, batch_groups, major = spec.get("groups", 1), spec.get("batch_groups", 1), spec.get("major", False)

        def x(b, i, j, c):
            return (b * 7 + i * 5 + j * 3 + c * 2 + i * j) % 9 - 4

        def w(s, t, c, f):
            return (s * 3 + t * 5 + c + f * 2 + c * f) % 7 - 3

        size, wanted = convolve(x, w, spec)
        if major:  # features before positions
            shapes = [n, ci, h, h], [co, ci // groups, k, k], [n // batch_groups, co, size, size]
            values = [x(b, i, j, c) for b, c, i, j in indices(shapes[0])], [w(s, t, c, f) for f, c, s, t in indices(shapes[1])]
            result, labels = [wanted[b, i, j, f] for b, f, i, j in indices(shapes[2])], "bf01_oi01->bf01"
        else:
            shapes = [n, h, h, ci], [k, k, ci // groups, co], [n // batch_groups, size, size, co]
            values = [x(*at) for at in indices(shapes[0])], [w(*at) for at in indices(shapes[1])]
            result, labels = [wanted[at] for at in indices(shapes[2])], "b01f_01io->b01f"
        p, q = module.parameter("f32", shapes[0], values[0]), module.parameter("f32", shapes[1], values[1])
        low, high = spec["pad"]
        window = f"size={k}x{k} stride={spec.get('stride', 1)}x{spec.get('stride', 1)} pad={low}_{high}x{low}_{high}"
        window += f" lhs_dilate={spec.get('base', 1)}x{spec.get('base', 1)} rhs_dilate={spec.get('dilation', 1)}x{spec.get('dilation', 1)}"
        window += f" rhs_reversal={spec.get('reversal', 0)}x{spec.get('reversal', 0)}"
        more = (f", feature_group_count={groups}" if groups > 1 else "") + (f", batch_group_count={batch_groups}" if batch_groups > 1 else "")
        name = module.op("f32", shapes[2], f"convolution({p}, {q}), window={{{window}}}, dim_labels={labels}{more}")
        module.result(name, "f32", shapes[2], result)
    module.run()


both = [{"major": False}, {"major": True}]
run("dilated", [dict(n=n, h=h, ci=ci, co=co, k=k, pad=pad, base=base, stride=stride, reversal=reversal, **order) for order in both
                for n, h, ci, co, k, pad, base, stride, reversal in (
                    (1, 4, 8, 16, 2, (1, 1), 2, 1, 0), (2, 4, 4, 16, 3, (1, 2), 2, 1, 1), (1, 4, 5, 9, 4, (2, 2), 2, 1, 0), (1, 4, 4, 8, 3, (1, 1), 2, 1, 0),
                    (1, 3, 6, 17, 5, (3, 4), 3, 1, 0), (1, 5, 4, 8, 3, (2, 1), 3, 2, 1), (1, 5, 4, 8, 3, (1, 2), 2, 2, 0), (1, 5, 4, 8, 2, (-1, 0), 4, 2, 0),
                    (1, 4, 3, 8, 1, (0, 1), 2, 1, 0), (1, 4, 4, 8, 3, (0, -2), 2, 1, 0))])
run("dilated_twice", [dict(n=1, h=4, ci=4, co=8, k=3, pad=(1, 2), base=2, dilation=dilation, **order) for order in both for dilation in (2, 3)])
run("groups", [dict(n=n, h=6, ci=ci, co=co, k=3, pad=(1, 1), groups=groups, batch_groups=batch_groups, **order) for order in both
               for n, ci, co, groups, batch_groups in ((1, 8, 32, 2, 1), (2, 12, 12, 3, 1), (1, 16, 16, 16, 1), (1, 16, 32, 16, 1), (4, 4, 16, 1, 2), (4, 3, 8, 1, 4))])
# several neighbouring results of a channel at once: windows that reach beyond the array on both sides, by more than one group of results, with steps and gaps
run("depthwise", [dict(n=n, h=h, ci=c, co=c, groups=c, k=k, pad=pad, stride=stride, dilation=dilation, base=base)
                  for n, h, c, k, pad, stride, dilation, base in (
                      (1, 14, 20, 3, (1, 1), 1, 1, 1), (2, 9, 16, 3, (0, 0), 1, 1, 1), (1, 13, 19, 3, (0, 1), 2, 1, 1), (1, 9, 8, 5, (2, 2), 1, 1, 1),
                      (1, 12, 8, 3, (2, 2), 1, 2, 1), (1, 12, 8, 3, (9, 1), 1, 1, 1), (1, 12, 8, 3, (-2, 3), 1, 1, 1), (1, 17, 8, 2, (1, 0), 3, 1, 1),
                      (1, 7, 8, 3, (1, 1), 1, 1, 2), (1, 11, 4, 3, (1, 1), 2, 3, 1), (1, 8, 33, 7, (3, 3), 1, 1, 1), (1, 9, 8, 11, (5, 5), 1, 1, 1))])
run("depthwise_reversed", [dict(n=1, h=9, ci=8, co=8, groups=8, k=3, pad=(1, 1), reversal=1)])
