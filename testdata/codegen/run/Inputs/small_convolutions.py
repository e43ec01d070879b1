"""Small convolutions of whole numbers, grouped, dilated, strided, transposed and padded, against sums written out here.

Their loops and packing are assembly where the processor has AVX2 (codegen/nest); sums are small enough to be exact in any order.
"""

import itertools
import random

from modules import Module

# spatial sizes, window, strides, low and high padding, dilation of input and of window, channels, groups, results
CASES = [
    ((8, 7), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1), 6, 2, 4),
    ((8, 7), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1), 6, 6, 12),
    ((6, 5), (2, 3), (1, 2), ((2, 1), (-1, 2)), (1, 2), (2, 1), 3, 1, 5),
    ((5, 9), (3, 2), (2, 1), ((0, 2), (1, 0)), (1, 1), (1, 3), 4, 1, 17),
    ((4, 4), (4, 4), (1, 1), ((2, 2), (2, 2)), (2, 2), (1, 1), 3, 1, 4),
    ((9, 28), (5, 5), (1, 1), ((2, 2), (2, 2)), (1, 1), (1, 1), 1, 1, 8),
    ((7, 6), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1), 8, 1, 16),
    ((7, 6), (3, 3), (3, 2), ((1, 1), (1, 1)), (1, 1), (1, 1), 8, 4, 8),
    ((13, 3), (1, 3), (1, 1), ((0, 0), (2, 2)), (1, 1), (1, 2), 5, 1, 3),
]


def convolve(x, w, case, batch):
    sizes, window, strides, pads, base, dilation, channels, groups, results = case
    per_group, per_result = channels // groups, results // groups
    outs = []
    for d in range(2):
        padded = (sizes[d] - 1) * base[d] + 1 + sum(pads[d])
        outs.append((padded - ((window[d] - 1) * dilation[d] + 1)) // strides[d] + 1)
    values = []
    for b, i, j, o in itertools.product(range(batch), range(outs[0]), range(outs[1]), range(results)):
        total = 0
        for k, l, c in itertools.product(range(window[0]), range(window[1]), range(per_group)):
            place = [i * strides[0] + k * dilation[0] - pads[0][0], j * strides[1] + l * dilation[1] - pads[1][0]]
            if any(p < 0 or p % s != 0 or p // s >= n for p, s, n in zip(place, base, sizes)):
                continue
            row, column = place[0] // base[0], place[1] // base[1]
            channel = o // per_result * per_group + c
            total += (x[((b * sizes[0] + row) * sizes[1] + column) * channels + channel] *
                      w[((k * window[1] + l) * per_group + c) * results + o])
        values.append(total)
    return (batch, *outs, results), values


def main():
    random.seed(7)
    module = Module("small_convolutions")
    batch = 2
    for case in CASES:
        sizes, window, strides, pads, base, dilation, channels, groups, results = case
        for element in ("f32", "f64"):
            x = [random.randint(-3, 3) for _ in range(batch * sizes[0] * sizes[1] * channels)]
            w = [random.randint(-3, 3) for _ in range(window[0] * window[1] * channels // groups * results)]
            lhs = module.parameter(element, (batch, *sizes, channels), x)
            rhs = module.parameter(element, (*window, channels // groups, results), w)
            shape, values = convolve(x, w, case, batch)
            text = "size={}x{} stride={}x{} pad={}_{}x{}_{} lhs_dilate={}x{} rhs_dilate={}x{}".format(
                *window, *strides, *pads[0], *pads[1], *base, *dilation)
            sums = module.op(element, shape, f"convolution({lhs}, {rhs}), window={{{text}}}, dim_labels=b01f_01io->b01f, "
                                             f"feature_group_count={groups}")
            module.result(sums, element, shape, values)
    module.run()


main()
