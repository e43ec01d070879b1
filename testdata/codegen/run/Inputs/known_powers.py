"""Powers whose exponent is a constant, a small number of halves: the f32 nearest to the power, and IEEE 754's special cases."""

import math

from modules import Module, rounded

INFINITY = math.inf
BASES = [1.0, 2.0, 0.75, 3.1415927410125732, 1e-20, 1e20, 123456.0, 0.0, -0.0, INFINITY, -INFINITY, math.nan, -1.0, -2.5, 1e-40, -7.0, 5.5]


def power(x, y):
    if x < 0 and x != -INFINITY and y != int(y):
        return math.nan
    if x == 0 and y < 0:
        return math.copysign(INFINITY, x) if y % 2 == 1 else INFINITY
    try:
        value = math.pow(x, y)
    except OverflowError:
        value = -INFINITY if x < 0 and y % 2 == 1 else INFINITY
    return math.copysign(INFINITY, value) if abs(value) > 3.4028235677973366e38 else rounded("f32", value)


module = Module("known_powers")
for exponent in (-8, -3.5, -3, -2, -1.5, -0.5, 0.5, 1.5, 2.5, 3, 4, 5.5, 7, 8):
    for count in (1, 5, len(BASES)):
        x = module.parameter("f32", [count], [rounded("f32", b) for b in BASES[-count:]])
        y = module.op("f32", [], f"constant({exponent})")
        y = module.op("f32", [count], f"broadcast({y}), dimensions={{}}")
        values = [power(rounded("f32", b), exponent) for b in BASES[-count:]]
        module.result(module.op("f32", [count], f"power({x}, {y})"), "f32", [count], values)
module.run()
