"""Integers of every width, predicates, and the rounding of f16 and bf16, on 37 elements: vectors of every kind and a rest."""

from modules import FLOATS, INTEGERS, Module, bits_of, rounded, wrapped

COUNT = 37


def spread(kind):
    """Small, large and extreme values, twice in different orders, so that pairs of all sorts meet."""
    bits = bits_of(kind)
    top = 1 << (bits - (kind[0] == "s"))
    seeds = [0, 1, 2, 3, top - 1, top // 2, top // 3, 5] + ([-1, -2, -top, -top + 1, -3] if kind[0] == "s" else [top - 2, top // 2 + 1])
    values = [wrapped(kind, value) for value in seeds]
    first = [values[i % len(values)] for i in range(COUNT)]
    second = [values[(i * 4 + i // len(values)) % len(values)] for i in range(COUNT)]
    return first, second


def divided(a, b):
    """Towards zero; what has no quotient gives all ones."""
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def left_over(a, b):
    return a if b == 0 else a - divided(a, b) * b


def shifted(kind, opcode, a, b):
    """A shift count is unsigned; one that is too large shifts everything out."""
    bits = bits_of(kind)
    count, pattern = b & ((1 << bits) - 1), a & ((1 << bits) - 1)
    if opcode == "shift-left":
        return 0 if count >= bits else pattern << count
    if opcode == "shift-right-logical":
        return 0 if count >= bits else pattern >> count
    signed = pattern - (1 << bits) if pattern >> (bits - 1) else pattern
    return signed >> min(count, bits - 1)


def integers(kind):
    module = Module(f"integers_{kind}")
    xs, ys = spread(kind)
    x, y = module.parameter(kind, [COUNT], xs), module.parameter(kind, [COUNT], ys)
    binary = {
        "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "divide": divided,
        "remainder": left_over, "maximum": max, "minimum": min, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
    }
    for opcode in ("shift-left", "shift-right-logical", "shift-right-arithmetic"):
        binary[opcode] = lambda a, b, opcode=opcode: shifted(kind, opcode, a, b)
    unary = {
        "not": lambda a: ~a, "negate": lambda a: -a, "popcnt": lambda a: (a & ((1 << bits_of(kind)) - 1)).bit_count(),
        "count-leading-zeros": lambda a: bits_of(kind) - (a & ((1 << bits_of(kind)) - 1)).bit_length(),
    }
    if kind[0] == "s":
        unary.update({"abs": abs, "sign": lambda a: (a > 0) - (a < 0)})
    for opcode, meaning in binary.items():
        module.result(module.op(kind, [COUNT], f"{opcode}({x}, {y})"), kind, [COUNT], [wrapped(kind, meaning(a, b)) for a, b in zip(xs, ys)])
    for opcode, meaning in unary.items():
        module.result(module.op(kind, [COUNT], f"{opcode}({x})"), kind, [COUNT], [wrapped(kind, meaning(a)) for a in xs])
    for direction, meaning in (("LT", lambda a, b: a < b), ("GE", lambda a, b: a >= b), ("EQ", lambda a, b: a == b), ("NE", lambda a, b: a != b)):
        name = module.op("pred", [COUNT], f"compare({x}, {y}), direction={direction}")
        module.result(name, "pred", [COUNT], [meaning(a, b) for a, b in zip(xs, ys)])
    for other in INTEGERS:
        if other != kind:
            name = module.op(other, [COUNT], f"convert({x})")
            module.result(name, other, [COUNT], [wrapped(other, a) for a in xs])
    name = module.op("pred", [COUNT], f"convert({x})")
    module.result(name, "pred", [COUNT], [a != 0 for a in xs])
    module.run()


def predicates():
    """One byte each in memory, one bit each in registers."""
    module = Module("predicates", """any {
  a = pred[] parameter(0)
  b = pred[] parameter(1)
  ROOT r = pred[] or(a, b)
}
all {
  a = pred[] parameter(0)
  b = pred[] parameter(1)
  ROOT r = pred[] and(a, b)
}
""")
    true, false = module.op("pred", [], "constant(true)"), module.op("pred", [], "constant(false)")
    for extent in (1, 2, 7, 8, 9, 16, 31, 64, 65, 100):
        xs, ys = [i % 3 == 0 for i in range(extent)], [i % 5 < 2 for i in range(extent)]
        x, y = module.parameter("pred", [extent], xs), module.parameter("pred", [extent], ys)
        shape = [extent]
        for opcode, meaning in (("and", lambda a, b: a and b), ("or", lambda a, b: a or b), ("xor", lambda a, b: a != b)):
            module.result(module.op("pred", shape, f"{opcode}({x}, {y})"), "pred", shape, [meaning(a, b) for a, b in zip(xs, ys)])
        module.result(module.op("pred", shape, f"not({x})"), "pred", shape, [not a for a in xs])
        module.result(module.op("pred", shape, f"reverse({x}), dimensions={{0}}"), "pred", shape, xs[::-1])
        module.result(module.op("pred", shape, f"compare({x}, {y}), direction=LT"), "pred", shape, [not a and b for a, b in zip(xs, ys)])
        for kind in ("s8", "s64", "f16", "f32", "f64"):
            module.result(module.op(kind, shape, f"convert({x})"), kind, shape, [int(a) for a in xs])
        chosen = module.op("pred", shape, f"select({x}, {y}, {x})")
        module.result(chosen, "pred", shape, [b if a else a for a, b in zip(xs, ys)])
        for function, init, wanted in (("any", false, any(xs)), ("all", true, all(xs))):
            name = module.op("pred", [], f"reduce({x}, {init}), dimensions={{0}}, to_apply={function}")
            module.result(name, "pred", [], [wanted])
    module.run()


def floats(kind):
    """Each operation rounds its own result: no wider intermediate shows."""
    module = Module(f"floats_{kind}")
    xs = [rounded(kind, (i - 11) * 0.37) for i in range(COUNT)]
    ys = [rounded(kind, 1.0 / (i + 1.5)) for i in range(COUNT)]
    x, y = module.parameter(kind, [COUNT], xs), module.parameter(kind, [COUNT], ys)
    exact = lambda v: rounded(kind, v)
    for opcode, meaning in (("add", lambda a, b: a + b), ("subtract", lambda a, b: a - b), ("multiply", lambda a, b: a * b),
                            ("maximum", max), ("minimum", min)):
        module.result(module.op(kind, [COUNT], f"{opcode}({x}, {y})"), kind, [COUNT], [exact(meaning(a, b)) for a, b in zip(xs, ys)])
    product = module.op(kind, [COUNT], f"multiply({x}, {y})")
    total = module.op(kind, [COUNT], f"add({product}, {x})")
    module.result(total, kind, [COUNT], [exact(exact(a * b) + a) for a, b in zip(xs, ys)])
    chain = x
    wanted = list(xs)
    for _ in range(5):
        chain = module.op(kind, [COUNT], f"add({chain}, {y})")
        wanted = [exact(a + b) for a, b in zip(wanted, ys)]
    module.result(chain, kind, [COUNT], wanted)
    for other in ("f64", "s32"):
        if other != kind:
            name = module.op(other, [COUNT], f"convert({x})")
            module.result(name, other, [COUNT], xs if other == "f64" else [int(a) for a in xs])
    module.run()


def saturation():
    """Floats to integers: towards zero, clamped to the range, NaN gives 0."""
    module = Module("saturation")
    values = [0.5, -0.5, 1e30, -1e30, float("inf"), float("-inf"), float("nan"), 127.9, -128.9, 3e9, -3e9, 255.5]
    x = module.parameter("f32", [len(values)], values)
    values = [rounded("f32", value) for value in values]
    for kind in ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"):
        low = -(1 << bits_of(kind) - 1) if kind[0] == "s" else 0
        high = (1 << bits_of(kind) - (kind[0] == "s")) - 1
        wanted = []
        for value in values:
            if value != value:
                wanted.append(0)
            else:
                wanted.append(int(min(max(value, float(low)), float(high))) if abs(value) < 1e18 else (high if value > 0 else low))
        module.result(module.op(kind, [len(values)], f"convert({x})"), kind, [len(values)], [min(max(v, low), high) for v in wanted])
    module.run()


for each in INTEGERS:
    integers(each)
predicates()
for each in FLOATS:
    floats(each)
saturation()
