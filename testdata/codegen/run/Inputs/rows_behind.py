"""Softmax of so many rows that those of one row are divided in the loop that computes the exponentials of the next.

What lies 800 below the largest number of its row has an exponential of 0, so results are 0 and 1 over the number of those that are the largest.  Rows
that end inside of a register, some of one number and some of NaN, in two dimensions of rows; in the operand's memory as well.  Of more than 2 MiB the
largest number of the row after that is found in that loop too, and the row of scratch is moved where it lies near, modulo a page, to what is read."""

import math
import random

from modules import Module, rounded

FUNCTIONS = """, input_output_alias={ {0}: (0, {}, may-alias) }

max {
  a = KIND[] parameter(0)
  b = KIND[] parameter(1)
  ROOT c = KIND[] maximum(a, b)
}

add {
  a = KIND[] parameter(0)
  b = KIND[] parameter(1)
  ROOT c = KIND[] add(a, b)
}
"""
random.seed(5)


def softmax(module, kind, dims, columns):
    rows, shape = math.prod(dims), [*dims, columns]
    values, expected = [], []
    for row in range(rows):
        largest, count = random.randint(-9, 9), random.randint(1, columns)
        places = set(random.sample(range(columns), count))
        numbers = [largest if i in places else largest - 800 for i in range(columns)]
        shares = [rounded(kind, 1 / count) if i in places else 0.0 for i in range(columns)]
        if row % 61 == 7:
            numbers[random.randrange(columns)], shares = math.nan, [math.nan] * columns
        values += numbers
        expected += shares
    x = module.parameter(kind, shape, [float(value) for value in values])
    over = ",".join(map(str, range(len(dims))))
    least, zero = module.op(kind, [], "constant(-inf)"), module.op(kind, [], "constant(0)")
    m = module.op(kind, list(dims), f"reduce({x}, {least}), dimensions={{{len(dims)}}}, to_apply=max")
    d = module.op(kind, shape, f"subtract({x}, {module.op(kind, shape, f'broadcast({m}), dimensions={{{over}}}')})")
    e = module.op(kind, shape, f"exponential({d})")
    s = module.op(kind, list(dims), f"reduce({e}, {zero}), dimensions={{{len(dims)}}}, to_apply=add")
    r = module.op(kind, shape, f"divide({e}, {module.op(kind, shape, f'broadcast({s}), dimensions={{{over}}}')})")
    module.result(r, kind, shape, expected)


for kind in ("f32", "f64"):
    module = Module(f"rows_behind_{kind}", FUNCTIONS.replace("KIND", kind))
    softmax(module, kind, [512], 77)
    softmax(module, kind, [27, 19], 130)
    softmax(module, kind, [600], 9)
    softmax(module, kind, [513], 64)
    softmax(module, kind, [64], 300)
    softmax(module, kind, [5, 13], 3000)
    module.run(threads=(1, 2, 5))

for shape in ([2057], 128), ([37, 38], 187):
    module = Module(f"rows_early_{shape[1]}", FUNCTIONS.replace("KIND", "f64"))
    softmax(module, "f64", *shape)
    module.run(threads=(1, 5))
