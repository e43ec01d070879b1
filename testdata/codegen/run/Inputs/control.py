"""Loops, conditionals, rank 0 and empty arrays."""

from modules import Module, wrapped


def loops():
    """Carries in registers (scalars), in memory (arrays), swapped, passed through; bodies that never run."""
    module = Module("loops", """below {
  state = (s32[], f32[], s32[], f32[5], s32[]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] get-tuple-element(state), index=4
  ROOT more = pred[] compare(i, n), direction=LT
}
step {
  state = (s32[], f32[], s32[], f32[5], s32[]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  sum = f32[] get-tuple-element(state), index=1
  product = s32[] get-tuple-element(state), index=2
  row = f32[5] get-tuple-element(state), index=3
  n = s32[] get-tuple-element(state), index=4
  one = s32[] constant(1)
  next = s32[] add(i, one)
  term = f32[] convert(next)
  next_sum = f32[] add(sum, term)
  next_product = s32[] multiply(product, next)
  wide = f32[5] broadcast(next_sum), dimensions={}
  next_row = f32[5] add(row, wide)
  ROOT next_state = (s32[], f32[], s32[], f32[5], s32[]) tuple(next, next_sum, next_product, next_row, n)
}
swap_more {
  state = (s32[], s32[], s32[], f32[3], f32[3]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  zero = s32[] constant(0)
  ROOT more = pred[] compare(i, zero), direction=GT
}
swap {
  state = (s32[], s32[], s32[], f32[3], f32[3]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  a = s32[] get-tuple-element(state), index=1
  b = s32[] get-tuple-element(state), index=2
  x = f32[3] get-tuple-element(state), index=3
  y = f32[3] get-tuple-element(state), index=4
  one = s32[] constant(1)
  less = s32[] subtract(i, one)
  both = s32[] add(a, b)
  ROOT next_state = (s32[], s32[], s32[], f32[3], f32[3]) tuple(less, b, both, y, x)
}
""")
    for n in (0, 1, 2, 9, 15):
        start, limit = module.op("s32", [], "constant(0)"), module.parameter("s32", [], [n])
        sum0, one = module.op("f32", [], "constant(0)"), module.op("s32", [], "constant(1)")
        row = module.parameter("f32", [5], range(5))
        shape = "(s32[], f32[], s32[], f32[5], s32[])"
        state = module.line(shape, f"tuple({start}, {sum0}, {one}, {row}, {limit})")
        loop = module.line(shape, f"while({state}), condition=below, body=step")
        total, product, rows = 0, 1, list(range(5))
        for i in range(1, n + 1):
            total, product = total + i, wrapped("s32", product * i)
            rows = [value + total for value in rows]
        module.result(module.op("s32", [], f"get-tuple-element({loop}), index=0"), "s32", [], [n])
        module.result(module.op("f32", [], f"get-tuple-element({loop}), index=1"), "f32", [], [total])
        module.result(module.op("s32", [], f"get-tuple-element({loop}), index=2"), "s32", [], [product])
        module.result(module.op("f32", [5], f"get-tuple-element({loop}), index=3"), "f32", [5], rows)
        shape = "(s32[], s32[], s32[], f32[3], f32[3])"
        x, y = module.parameter("f32", [3], [1, 2, 3]), module.parameter("f32", [3], [4, 5, 6])
        state = module.line(shape, f"tuple({limit}, {start}, {one}, {x}, {y})")
        loop = module.line(shape, f"while({state}), condition=swap_more, body=swap")
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        module.result(module.op("s32", [], f"get-tuple-element({loop}), index=1"), "s32", [], [a])
        wanted = [1, 2, 3] if n % 2 == 0 else [4, 5, 6]
        module.result(module.op("f32", [3], f"get-tuple-element({loop}), index=3"), "f32", [3], wanted)
    module.run()


def nested_loops():
    """A triangle: the inner loop runs as often as the outer one counts, and writes a row of an array at each."""
    module = Module("nested_loops", """inner_more {
  state = (s32[], s32[], s32[], s32[6,6]) parameter(0)
  j = s32[] get-tuple-element(state), index=1
  i = s32[] get-tuple-element(state), index=0
  ROOT more = pred[] compare(j, i), direction=LT
}
inner {
  state = (s32[], s32[], s32[], s32[6,6]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  j = s32[] get-tuple-element(state), index=1
  count = s32[] get-tuple-element(state), index=2
  table = s32[6,6] get-tuple-element(state), index=3
  one = s32[] constant(1)
  next_j = s32[] add(j, one)
  next_count = s32[] add(count, one)
  cell = s32[1,1] reshape(next_count)
  next_table = s32[6,6] dynamic-update-slice(table, cell, i, j)
  ROOT next_state = (s32[], s32[], s32[], s32[6,6]) tuple(i, next_j, next_count, next_table)
}
outer_more {
  state = (s32[], s32[], s32[6,6]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  six = s32[] constant(6)
  ROOT more = pred[] compare(i, six), direction=LT
}
outer {
  state = (s32[], s32[], s32[6,6]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  count = s32[] get-tuple-element(state), index=1
  table = s32[6,6] get-tuple-element(state), index=2
  zero = s32[] constant(0)
  one = s32[] constant(1)
  inner_state = (s32[], s32[], s32[], s32[6,6]) tuple(i, zero, count, table)
  done = (s32[], s32[], s32[], s32[6,6]) while(inner_state), condition=inner_more, body=inner
  next_count = s32[] get-tuple-element(done), index=2
  next_table = s32[6,6] get-tuple-element(done), index=3
  next_i = s32[] add(i, one)
  ROOT next_state = (s32[], s32[], s32[6,6]) tuple(next_i, next_count, next_table)
}
""")
    zero, table = module.op("s32", [], "constant(0)"), module.parameter("s32", [6, 6], [-1] * 36)
    shape = "(s32[], s32[], s32[6,6])"
    state = module.line(shape, f"tuple({zero}, {zero}, {table})")
    loop = module.line(shape, f"while({state}), condition=outer_more, body=outer")
    wanted, count = [-1] * 36, 0
    for i in range(6):
        for j in range(i):
            count += 1
            wanted[i * 6 + j] = count
    module.result(module.op("s32", [], f"get-tuple-element({loop}), index=1"), "s32", [], [count])
    module.result(module.op("s32", [6, 6], f"get-tuple-element({loop}), index=2"), "s32", [6, 6], wanted)
    module.run()


def small_arrays():
    """Carries of a few elements: stepped, passed through, written in place at an index, read by a branch, seen by another loop."""
    module = Module("small_arrays", """keep {
  ROOT x = s32[3] parameter(0)
}
turn {
  x = s32[3] parameter(0)
  ROOT turned = s32[3] reverse(x), dimensions={0}
}
below {
  state = (s32[], s32[3], s32[4], s32[2,2], pred[2]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  five = s32[] constant(5)
  ROOT more = pred[] compare(i, five), direction=LT
}
step {
  state = (s32[], s32[3], s32[4], s32[2,2], pred[2]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  x = s32[3] get-tuple-element(state), index=1
  log = s32[4] get-tuple-element(state), index=2
  square = s32[2,2] get-tuple-element(state), index=3
  flags = pred[2] get-tuple-element(state), index=4
  one = s32[] constant(1)
  next = s32[] add(i, one)
  three = s32[] constant(3)
  place = s32[] remainder(i, three)
  first = s32[1] slice(x), slice={[0:1]}
  rest = s32[2] slice(x), slice={[1:3]}
  rolled = s32[3] concatenate(rest, first), dimensions={0}
  wide = s32[3] broadcast(i), dimensions={}
  sum = s32[3] add(rolled, wide)
  odd = s32[] and(i, one)
  next_x = s32[3] conditional(odd, sum, sum), branch_computations={keep, turn}
  next_log = s32[4] dynamic-update-slice(log, first, place)
  next_square = s32[2,2] transpose(square), dimensions={1,0}
  next_flags = pred[2] not(flags)
  ROOT next_state = (s32[], s32[3], s32[4], s32[2,2], pred[2]) tuple(next, next_x, next_log, next_square, next_flags)
}
""")
    zero, x = module.op("s32", [], "constant(0)"), module.parameter("s32", [3], [5, 7, 11])
    log, square = module.parameter("s32", [4], [1, 2, 3, 4]), module.parameter("s32", [2, 2], [1, 2, 3, 4])
    flags = module.parameter("pred", [2], [True, False])
    shape = "(s32[], s32[3], s32[4], s32[2,2], pred[2])"
    state = module.line(shape, f"tuple({zero}, {x}, {log}, {square}, {flags})")
    loop = module.line(shape, f"while({state}), condition=below, body=step")
    wanted, places = [5, 7, 11], [1, 2, 3, 4]
    for i in range(5):
        places[i % 3] = wanted[0]
        wanted = [value + i for value in wanted[1:] + wanted[:1]]
        wanted = wanted[::-1] if i % 2 else wanted
    module.result(module.op("s32", [3], f"get-tuple-element({loop}), index=1"), "s32", [3], wanted)
    module.result(module.op("s32", [4], f"get-tuple-element({loop}), index=2"), "s32", [4], places)
    module.result(module.op("s32", [2, 2], f"get-tuple-element({loop}), index=3"), "s32", [2, 2], [1, 3, 2, 4])
    module.result(module.op("pred", [2], f"get-tuple-element({loop}), index=4"), "pred", [2], [False, True])
    module.run()


def conditionals():
    """Three branches; an index out of range takes the last.  Two branches on a predicate."""
    module = Module("conditionals", """double {
  state = (f32[4], s32[]) parameter(0)
  x = f32[4] get-tuple-element(state), index=0
  n = s32[] get-tuple-element(state), index=1
  twice = f32[4] add(x, x)
  ROOT r = (f32[4], s32[]) tuple(twice, n)
}
keep {
  ROOT state = (f32[4], s32[]) parameter(0)
}
negated {
  state = (f32[4], s32[]) parameter(0)
  x = f32[4] get-tuple-element(state), index=0
  n = s32[] get-tuple-element(state), index=1
  other = f32[4] negate(x)
  m = s32[] negate(n)
  ROOT r = (f32[4], s32[]) tuple(other, m)
}
""")
    values = [1, -2, 3, 4]
    x, n = module.parameter("f32", [4], values), module.parameter("s32", [], [7])
    shape = "(f32[4], s32[])"
    state = module.line(shape, f"tuple({x}, {n})")
    meanings = [([2 * v for v in values], 7), (values, 7), ([-v for v in values], -7)]
    for choice in (0, 1, 2, 3, -1, 2147483647, -2147483648):
        index = module.parameter("s32", [], [choice])
        chosen = module.line(shape, f"conditional({index}, {state}, {state}, {state}), branch_computations={{double, keep, negated}}")
        array, number = meanings[choice if 0 <= choice <= 2 else 2]
        module.result(module.op("f32", [4], f"get-tuple-element({chosen}), index=0"), "f32", [4], array)
        module.result(module.op("s32", [], f"get-tuple-element({chosen}), index=1"), "s32", [], [number])
    for choice in (True, False):
        index = module.parameter("pred", [], [choice])
        chosen = module.line(shape, f"conditional({index}, {state}, {state}), true_computation=double, false_computation=negated")
        array, number = meanings[0 if choice else 2]
        module.result(module.op("f32", [4], f"get-tuple-element({chosen}), index=0"), "f32", [4], array)
        module.result(module.op("s32", [], f"get-tuple-element({chosen}), index=1"), "s32", [], [number])
    module.run()


def scalars_and_nothing():
    """Rank 0 and extent 0 in every place where they may stand."""
    module = Module("scalars_and_nothing", """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
""")
    a, b = module.parameter("f32", [], [3]), module.parameter("f32", [], [4])
    module.result(module.op("f32", [], f"multiply({a}, {b})"), "f32", [], [12])
    module.result(module.op("f32", [], f"dot({a}, {b})"), "f32", [], [12])
    module.result(module.op("f32", [1, 1, 1], f"reshape({a})"), "f32", [1, 1, 1], [3])
    module.result(module.op("f32", [], f"transpose({a}), dimensions={{}}"), "f32", [], [3])
    module.result(module.op("f32", [], f"reduce({a}, {b}), dimensions={{}}, to_apply=add"), "f32", [], [7])
    module.result(module.op("f32", [1], f"broadcast({a}), dimensions={{}}"), "f32", [1], [3])
    none = module.parameter("f32", [0, 3], [])
    row = module.parameter("f32", [3], [1, 2, 3])
    module.result(module.op("f32", [0, 3], f"add({none}, {none})"), "f32", [0, 3], [])
    module.result(module.op("f32", [3], f"reduce({none}, {a}), dimensions={{0}}, to_apply=add"), "f32", [3], [3, 3, 3])
    module.result(module.op("f32", [0], f"reduce({none}, {a}), dimensions={{1}}, to_apply=add"), "f32", [0], [])
    module.result(module.op("f32", [3, 0], f"reshape({none})"), "f32", [3, 0], [])
    turned = module.op("f32", [3, 0], f"transpose({none}), dimensions={{1,0}}")
    module.result(module.op("f32", [0], f"reshape({turned})"), "f32", [0], [])
    square = module.op("f32", [3, 3], f"dot({turned}, {none}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}")
    module.result(square, "f32", [3, 3], [0] * 9)
    module.result(module.op("f32", [2, 3], f"pad({none}, {a}), padding=1_1x0_0"), "f32", [2, 3], [3] * 6)
    line = module.op("f32", [1, 3], f"reshape({row})")
    module.result(module.op("f32", [1, 3], f"concatenate({none}, {line}, {none}), dimensions={{0}}"), "f32", [1, 3], [1, 2, 3])
    module.result(module.op("f32", [0, 3], f"broadcast({row}), dimensions={{1}}"), "f32", [0, 3], [])
    module.result(module.op("s32", [0], "iota(), iota_dimension=0"), "s32", [0], [])
    module.run()


for test in (loops, nested_loops, small_arrays, conditionals, scalars_and_nothing):
    test()
