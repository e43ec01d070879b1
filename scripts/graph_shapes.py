"""Modules of many instructions, by shape of graph: what a compiler must take in linear time.  SHAPES: name → function of a number of instructions."""


def lines_of(name, body, before=()):
    return "\n".join([f"HloModule {name}", "", *before, "ENTRY main {", *body, "}", ""])


def last(i, count):
    return "ROOT " if i == count - 1 else ""


def tuple_of(type_text, names):
    return f"  ROOT all = ({', '.join([type_text] * len(names))}) tuple({', '.join(names)})"


ADD = ["add {", "  a = f32[] parameter(0)", "  b = f32[] parameter(1)", "  ROOT sum = f32[] add(a, b)", "}", ""]
DOT = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"


def scales(count):
    """A dot, a scale of its own, a tanh, a residual: six instructions each, Kernels that differ in a constant."""
    body = ["  x_0 = f32[64,128] parameter(0)", "  w = f32[128,128] parameter(1)"]
    for i in range(count // 6):
        body += [f"  scale_{i} = f32[] constant({0.5 + 0.001 * i:.3f})", f"  scales_{i} = f32[64,128] broadcast(scale_{i}), dimensions={{}}",
                 f"  dot_{i} = f32[64,128] dot(x_{i}, w), {DOT}", f"  scaled_{i} = f32[64,128] multiply(dot_{i}, scales_{i})",
                 f"  tanh_{i} = f32[64,128] tanh(scaled_{i})", f"  {last(i, count // 6)}x_{i + 1} = f32[64,128] add(tanh_{i}, x_{i})"]
    return lines_of("scales", body)


def layers(count):
    """A dot, a bias, a maximum, a residual: seven instructions each."""
    body = ["  x_0 = f32[16,64] parameter(0)", "  zero = f32[] constant(0)", "  zeros = f32[16,64] broadcast(zero), dimensions={}"]
    for i in range(count // 7):
        body += [f"  w_{i} = f32[64,64] parameter({2 * i + 1})", f"  b_{i} = f32[64] parameter({2 * i + 2})",
                 f"  dot_{i} = f32[16,64] dot(x_{i}, w_{i}), {DOT}", f"  bias_{i} = f32[16,64] broadcast(b_{i}), dimensions={{1}}",
                 f"  sum_{i} = f32[16,64] add(dot_{i}, bias_{i})", f"  positive_{i} = f32[16,64] maximum(sum_{i}, zeros)",
                 f"  {last(i, count // 7)}x_{i + 1} = f32[16,64] add(positive_{i}, x_{i})"]
    return lines_of("layers", body)


def chain(count):
    """Elementwise operations, one behind the other."""
    body = ["  x_0 = f32[64] parameter(0)", "  y = f32[64] parameter(1)"]
    opcodes = ["add", "multiply", "maximum", "subtract"]
    body += [f"  {last(i, count)}x_{i + 1} = f32[64] {opcodes[i % 4]}(x_{i}, y)" for i in range(count)]
    return lines_of("chain", body)


def constants(count):
    body = ["  x_0 = f32[4] parameter(0)"]
    for i in range(count // 2):
        body += [f"  c_{i} = f32[4] constant({{{i}, 1, 2, {i}.5}})", f"  {last(i, count // 2)}x_{i + 1} = f32[4] add(x_{i}, c_{i})"]
    return lines_of("constants", body)


def parameters(count):
    body = [f"  p_{i} = f32[8] parameter({i})" for i in range(count // 2)] + ["  x_1 = f32[8] negate(p_0)"]
    body += [f"  {last(i, count // 2)}x_{i + 1} = f32[8] add(x_{i}, p_{i})" for i in range(1, count // 2)]
    return lines_of("parameters", body)


def users(count):
    """One value that is read by a third of all."""
    body = ["  x = f32[64] parameter(0)", "  e = f32[64] exponential(x)"]
    for i in range(count // 3):
        body += [f"  c_{i} = f32[] constant({i + 2})", f"  b_{i} = f32[64] broadcast(c_{i}), dimensions={{}}", f"  u_{i} = f32[64] add(e, b_{i})"]
    return lines_of("users", body + [tuple_of("f32[64]", [f"u_{i}" for i in range(count // 3)])])


def dots(count):
    """One value that dots read, and a huge tuple."""
    body = ["  x = f32[4,4] parameter(0)", "  e = f32[4,4] exponential(x)"]
    for i in range(count // 2):
        body += [f"  w_{i} = f32[4,4] parameter({i + 1})", f"  u_{i} = f32[4,4] dot(e, w_{i}), {DOT}"]
    return lines_of("dots", body + [tuple_of("f32[4,4]", [f"u_{i}" for i in range(count // 2)])])


def operands(count):
    """One instruction of very many operands, all alive at once."""
    body = [f"  p_{i} = f32[4] parameter({i})\n  v_{i} = f32[4] sine(p_{i})" for i in range(count // 2)]
    names = ", ".join(f"v_{i}" for i in range(count // 2))
    return lines_of("operands", body + [f"  ROOT all = f32[{count // 2 * 4}] concatenate({names}), dimensions={{0}}"])


def calls(count):
    """Small computations, called once each."""
    before, body = [], ["  x_0 = f32[64] parameter(0)"]
    for i in range(count // 4):
        before += [f"call_{i} {{", "  p = f32[64] parameter(0)", "  s = f32[64] sine(p)", "  ROOT a = f32[64] add(s, p)", "}", ""]
        body.append(f"  {last(i, count // 4)}x_{i + 1} = f32[64] call(x_{i}), to_apply=call_{i}")
    return lines_of("calls", body, before)


def reduces(count):
    """Rows that are made and summed up again and again."""
    body = ["  zero = f32[] constant(0)", "  x_0 = f32[16,32] parameter(0)"]
    for i in range(count // 4):
        body += [f"  e_{i} = f32[16,32] exponential(x_{i})", f"  r_{i} = f32[16] reduce(e_{i}, zero), dimensions={{1}}, to_apply=add",
                 f"  b_{i} = f32[16,32] broadcast(r_{i}), dimensions={{0}}",
                 f"  {last(i, count // 4)}x_{i + 1} = f32[16,32] divide(e_{i}, b_{i})"]
    return lines_of("reduces", body, ADD)


def loops(count, depth=8):
    """Loops in loops, eight deep."""
    state, before, body = "(s32[], f32[16])", [], ["  x_0 = f32[16] parameter(0)", "  zero = s32[] constant(0)"]
    nests = max(1, count // (12 * depth + 2))
    for nest in range(nests):
        for level in range(depth):
            name = f"{nest}_{level}"
            before += [f"condition_{name} {{", f"  s = {state} parameter(0)", "  i = s32[] get-tuple-element(s), index=0",
                       "  n = s32[] constant(100)", "  ROOT lt = pred[] compare(i, n), direction=LT", "}", "",
                       f"body_{name} {{", f"  s = {state} parameter(0)", "  i = s32[] get-tuple-element(s), index=0",
                       "  v = f32[16] get-tuple-element(s), index=1", "  one = s32[] constant(1)", "  j = s32[] add(i, one)"]
            if level == 0:
                before += ["  w = f32[16] sine(v)"]
            else:
                inner = f"{nest}_{level - 1}"
                before += ["  zero = s32[] constant(0)", f"  begin = {state} tuple(zero, v)",
                           f"  end = {state} while(begin), condition=condition_{inner}, body=body_{inner}",
                           "  w = f32[16] get-tuple-element(end), index=1"]
            before += [f"  ROOT next = {state} tuple(j, w)", "}", ""]
        outer = f"{nest}_{depth - 1}"
        body += [f"  begin_{nest} = {state} tuple(zero, x_{nest})",
                 f"  end_{nest} = {state} while(begin_{nest}), condition=condition_{outer}, body=body_{outer}",
                 f"  {last(nest, nests)}x_{nest + 1} = f32[16] get-tuple-element(end_{nest}), index=1"]
    return lines_of("loops", body, before)


def state(count):
    """One loop whose state is a huge tuple."""
    width = count // 6
    shape = f"(s32[], {', '.join(['f32[8]'] * width)})"
    inside = [f"  g_{i} = f32[8] get-tuple-element(s), index={i + 1}" for i in range(width)]
    inside += [f"  h_{i} = f32[8] add(g_{i}, g_{(i + 1) % width})" for i in range(width)]
    before = ["condition {", f"  s = {shape} parameter(0)", "  i = s32[] get-tuple-element(s), index=0", "  n = s32[] constant(10)",
              "  ROOT lt = pred[] compare(i, n), direction=LT", "}", "", "body {", f"  s = {shape} parameter(0)",
              "  i = s32[] get-tuple-element(s), index=0", "  one = s32[] constant(1)", "  j = s32[] add(i, one)", *inside,
              f"  ROOT next = {shape} tuple(j, {', '.join(f'h_{i}' for i in range(width))})", "}", ""]
    body = ["  zero = s32[] constant(0)"] + [f"  p_{i} = f32[8] parameter({i})" for i in range(width)]
    body += [f"  begin = {shape} tuple(zero, {', '.join(f'p_{i}' for i in range(width))})",
             f"  end = {shape} while(begin), condition=condition, body=body"]
    body += [f"  o_{i} = f32[8] get-tuple-element(end), index={i + 1}\n  q_{i} = f32[8] negate(o_{i})" for i in range(width)]
    return lines_of("state", body + [tuple_of("f32[8]", [f"q_{i}" for i in range(width)])], before)


def sums(count):
    """x + x again and again."""
    body = ["  x_0 = f32[64] parameter(0)"] + [f"  {last(i, count)}x_{i + 1} = f32[64] add(x_{i}, x_{i})" for i in range(count)]
    return lines_of("sums", body)


def passed(count):
    """Parameters that are results."""
    body = [f"  p_{i} = f32[8] parameter({i})" for i in range(count)]
    return lines_of("passed", body + [tuple_of("f32[8]", [f"p_{i}" for i in range(count)])])


def fusions(count):
    """Fusions that the text brings along."""
    before, body = [], ["  x_0 = f32[64] parameter(0)"]
    for i in range(count // 4):
        before += [f"fusion_{i} {{", "  p = f32[64] parameter(0)", "  s = f32[64] sine(p)", "  ROOT a = f32[64] add(s, p)", "}", ""]
        body.append(f"  {last(i, count // 4)}x_{i + 1} = f32[64] fusion(x_{i}), kind=kLoop, calls=fusion_{i}")
    return lines_of("fusions", body, before)


def nests(count):
    """Loops in loops, as deep as they may be."""
    return loops(count, depth=100)


SHAPES = {shape.__name__: shape for shape in [layers, scales, chain, constants, parameters, users, dots, operands, calls, reduces, loops, state, sums,
                                           passed, fusions, nests]}
