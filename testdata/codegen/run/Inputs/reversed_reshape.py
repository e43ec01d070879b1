"""A reshape read backwards: index expressions with negative coefficients under divisions and remainders."""

from modules import Module


def main():
    module = Module("reversed")
    for shape, flat in (((2, 7, 1, 2), (4, 7)), ((3, 5), (5, 3)), ((6, 4), (3, 8)), ((2, 3, 4), (4, 6))):
        count = 1
        for extent in shape:
            count *= extent
        source = module.parameter("s32", shape, range(count))
        again = module.op("s32", flat, f"reshape({source})")
        dims = ",".join(map(str, range(len(flat))))
        back = module.op("s32", flat, f"reverse({again}), dimensions={{{dims}}}")
        # something to fuse with, so that the indices are computed inside of a Kernel
        zero = module.parameter("s32", flat, [0] * count)
        total = module.op("s32", flat, f"add({back}, {zero})")
        module.result(total, "s32", flat, range(count - 1, -1, -1))
    module.run()


main()
