"""Values, types and a computation under construction.

Everything stays inside defined behaviour: floats are integers small enough that sums are exact in any order, and mathematical functions
come last, where nothing can amplify an error.
"""

import math
import random
import re
import zipfile

from matrix.npy import npy_bytes, npz_values

# ---- types and values ----

KINDS = ["pred", "s4", "u4", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f16", "bf16", "f32", "f64", "f8e5m2", "f8e4m3fn"]
EXACT = {"f8e5m2": 2 ** 3, "f8e4m3fn": 2 ** 4, "f16": 2 ** 11, "bf16": 2 ** 8, "f32": 2 ** 24, "f64": 2 ** 40}  # integers up to here are floats
TOLERANCE = {"f8e5m2": 0.3, "f8e4m3fn": 0.15, "f16": 4e-3, "bf16": 2e-2, "f32": 2e-5, "f64": 1e-11}  # of mathematical functions
INTS = [kind for kind in KINDS if kind[0] in "su"]
COMMON = ["pred"] + INTS[2:] + ["f16", "bf16", "f32", "f32", "f32", "f64"]
RARE = ["s4", "u4", "f8e5m2", "f8e4m3fn"]
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 33, 65]
LARGE_SIZES = [16, 60, 64, 65, 96, 100, 127, 128, 130, 257]
MOST, MOST_LARGE = 700, 20000  # elements


def any_kind(rng):
    return rng.choice(COMMON if rng.random() < 0.93 else RARE)


def width(kind):
    return int(kind.lstrip("bsuf"))


def cap(kind):
    """The largest small number of a kind."""
    return 1 if kind == "pred" else EXACT[kind] if kind in EXACT else 2 ** (width(kind) - (kind[0] == "s")) - 1


def shape_text(kind, dims, layout=""):
    return f"{kind}[{','.join(map(str, dims))}]{layout}"


def listed(items):
    return "{" + ",".join(map(str, items)) + "}"


def results_of(path):
    """Those of whole arrays; a text where they are those of devices."""
    values = npz_values(path)
    return [values[f"r{i}"] for i in range(len(values))] if "r0" in values or not values else f"results are {', '.join(sorted(values))}"


def close(a, b, tolerance):
    return a == b or (a != a and b != b) or (tolerance > 0 and abs(a - b) <= tolerance * (1 + abs(b)))


# ---- generating ----

class Node:
    """A value: |bound| is the largest magnitude it may have (None: any), |approx| that it is right within the tolerance only, |laid|
    that its bytes may not be in row-major order."""

    def __init__(self, name, kind, dims, bound=None, approx=False, laid=False):
        self.name, self.kind, self.dims, self.bound, self.approx, self.laid = name, kind, tuple(dims), bound, approx, laid


class Shared:
    """What the computations of a module have in common."""

    def __init__(self, rng):
        self.rng, self.functions, self.names, self.number = rng, [], {}, 0
        self.parameters = []  # (kind, dims, layout, values) of the entry
        self.most = MOST if rng.random() < 0.93 else MOST_LARGE
        self.layouts = rng.choice([0, 0, 0.05, 0.2])  # how often an instruction gets a layout of its own

    def fresh(self, prefix):
        self.number += 1
        return f"{prefix}{self.number}"

    def function(self, name, lines):
        """The computation |name|, made once."""
        if name not in self.names:
            self.names[name] = True
            self.functions.append(f"{name} {{\n" + "".join(f"  {line}\n" for line in lines) + "}")
        return name

    def dims(self):
        rng = self.rng
        rank, sizes = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6]), SIZES
        if self.most > MOST:
            rank, sizes = rng.choice([1, 2, 2, 3, 4]), LARGE_SIZES + SIZES
        while True:
            dims = tuple(0 if rng.random() < 0.02 else rng.choice(sizes if rank < 5 else SIZES[:8]) for _ in range(rank))
            if math.prod(dims) <= self.most:
                return dims


def live(lines, roots):
    """The lines that |roots| need, and all parameters."""
    needed, kept = set(roots), []
    for line in reversed(lines):
        name, text = line.split(" = ", 1)
        if name in needed or " parameter(" in text:
            kept.append(line)
            needed |= set(re.findall(r"\b\w+\b", text))
    return kept[::-1]


MAKERS = []  # functions (computation, kind, dims, depth, exact) that return a Node, or None when they cannot


def maker(weight=1):
    def add(function):
        MAKERS.extend([function] * weight)
        return function
    return add


class Computation:
    """Lines of one computation under construction."""

    def __init__(self, shared, nested=0):
        self.shared, self.rng, self.nested = shared, shared.rng, nested
        self.lines, self.pool = [], []

    def line(self, shape, text):
        name = self.shared.fresh("v")
        self.lines.append(f"{name} = {shape} {text}")
        return name

    def node(self, kind, dims, text, bound=None, approx=False):
        layout = ""
        if len(dims) > 1 and self.rng.random() < self.shared.layouts and not text.startswith(("bitcast(", "parameter", "get-tuple")):
            layout = listed(self.rng.sample(range(len(dims)), len(dims)))
        node = Node(self.line(shape_text(kind, dims, layout), text), kind, dims, bound, approx, layout != "")
        self.pool.append(node)
        return node

    def moved(self, source, dims, text):
        return self.node(source.kind, dims, text, source.bound, source.approx)

    def scalar(self, kind, value):
        text = str(value).lower() if kind == "pred" else str(value)
        return self.node(kind, (), f"constant({text})", abs(value))

    def full(self, kind, dims, value):
        one = self.scalar(kind, value)
        return one if not dims else self.node(kind, dims, f"broadcast({one.name}), dimensions={{}}", abs(value))

    def small(self, node, bound):
        """|node| brought within |bound|."""
        if node.kind == "pred" or (node.bound is not None and node.bound <= bound):
            return node
        bound = min(bound, cap(node.kind))
        low, high = self.scalar(node.kind, 0 if node.kind[0] == "u" else -bound), self.scalar(node.kind, bound)
        return self.node(node.kind, node.dims, f"clamp({low.name}, {node.name}, {high.name})", bound)

    def number(self, node):
        """|node| with 0 for NaN, whose sign and payload mean nothing."""
        if node.kind == "pred" or node.kind[0] in "su":
            return node
        same = self.node("pred", node.dims, f"compare({node.name}, {node.name}), direction=EQ")
        zero = self.full(node.kind, node.dims, 0)
        return self.node(node.kind, node.dims, f"select({same.name}, {node.name}, {zero.name})", node.bound, node.approx)

    def most(self, *nodes):
        """The bound of what is one of |nodes|."""
        return None if any(n.bound is None for n in nodes) else max(n.bound for n in nodes)

    # leaves

    def values(self, kind, count, style):
        rng = self.rng
        if kind == "pred":
            return [rng.random() < 0.5 for _ in range(count)], 1
        if kind in EXACT or style == "small":
            low = 0 if kind[0] == "u" else -4
            return [rng.randint(low, 4) for _ in range(count)], 4
        bits = width(kind)
        low, high = (0, 2 ** bits - 1) if kind[0] == "u" else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)
        return [rng.choice([low, high, 0, 1, rng.randint(low, high)]) for _ in range(count)], None

    def constant(self, kind, dims):
        values, bound = self.values(kind, math.prod(dims), self.rng.choice(["any", "small"]))

        def text(start, rest):
            if not rest:
                return str(values[start]).lower()
            step = math.prod(rest[1:])
            return "{" + ", ".join(text(start + i * step, rest[1:]) for i in range(rest[0])) + "}"
        return self.node(kind, dims, f"constant({text(0, dims)})", bound)

    def leaf(self, kind, dims):
        rng = self.rng
        pick = rng.random()
        if pick < 0.15 and dims and kind != "pred" and max(dims) < min(100, cap(kind)):
            return self.node(kind, dims, f"iota(), iota_dimension={rng.randrange(len(dims))}", 100)
        if pick < 0.3 or (self.nested and math.prod(dims) > 12):
            return self.full(kind, dims, rng.choice([True, False]) if kind == "pred" else rng.randint(0 if kind[0] == "u" else -3, 3))
        if self.nested or (pick < 0.4 and 0 < math.prod(dims) < 40):
            return self.constant(kind, dims)
        values, bound = self.values(kind, math.prod(dims), rng.choice(["any", "small"]))
        layout = ""
        if len(dims) > 1 and rng.random() < 0.15:
            layout = listed(rng.sample(range(len(dims)), len(dims)))
        self.shared.parameters.append((kind, dims, layout, values))
        name = self.line(shape_text(kind, dims, layout), f"parameter({len(self.shared.parameters) - 1})")
        node = Node(name, kind, dims, bound, laid=layout != "")
        self.pool.append(node)
        return node

    # any value

    def make(self, kind, dims, depth, exact=True):
        rng, dims = self.rng, tuple(dims)
        if rng.random() < 0.35:
            found = [n for n in self.pool if n.kind == kind and n.dims == dims and not (exact and n.approx)]
            if found:
                return rng.choice(found)
        if depth <= 0 or len(self.lines) > 120 or math.prod(dims) > 4 * self.shared.most:
            return self.leaf(kind, dims)
        for _ in range(4):
            node = rng.choice(MAKERS)(self, kind, dims, depth - 1, exact)
            if node:
                return node
        return self.leaf(kind, dims)


class Module:
    """Text and inputs.  outputs: nodes; form: how the root holds them, 'tuple', 'nested' (a tuple of tuples) or 'bare' (one result)."""

    def __init__(self, head, lines, functions, parameters, outputs, form="tuple"):
        self.head, self.lines, self.functions, self.parameters, self.outputs = head, lines, functions, parameters, outputs
        self.form = form if form != "bare" or len(outputs) == 1 else "tuple"

    def root_lines(self):
        lines, parts = list(self.lines), []
        if self.form == "bare":
            return [("ROOT " if line.startswith(self.outputs[0].name + " ") else "") + line for line in lines]
        for i, node in enumerate(self.outputs):
            parts.append((shape_text(node.kind, node.dims), node.name))
            if self.form == "nested" and i % 2 == 0:
                shape = f"({', '.join(p[0] for p in parts[-2:])})"
                lines.append(f"part{i} = {shape} tuple({', '.join(p[1] for p in parts[-2:])})")
                parts[-2:] = [(shape, f"part{i}")]
        return lines + [f"ROOT result = ({', '.join(p[0] for p in parts)}) tuple({', '.join(p[1] for p in parts)})"]

    def text(self):
        return (f"HloModule random{self.head}\n\n" + "\n\n".join(self.functions) + "\n\nENTRY main {\n"
                + "".join(f"  {line}\n" for line in self.root_lines()) + "}\n")

    def write(self, path):
        path.write_text(self.text())
        with zipfile.ZipFile(path.with_suffix(".npz"), "w") as archive:
            for i, (kind, dims, _, values) in enumerate(self.parameters):
                archive.writestr(f"p{i}.npy", npy_bytes(kind, dims, values))


def random_module(seed):
    rng = random.Random(seed)
    shared = Shared(rng)
    entry = Computation(shared)
    outputs = [entry.make(any_kind(rng), shared.dims(), rng.randint(2, 4), exact=False) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.1:
        outputs.append(rng.choice(outputs + entry.pool))  # twice the same, a parameter, or what others need as well
    form, head = rng.choice(["tuple", "tuple", "nested", "bare"]), ""
    if rng.random() < 0.3 and form == "tuple":  # a result in the place of a parameter
        pairs = [(o, p) for o, node in enumerate(outputs) for p, (kind, dims, layout, _) in enumerate(shared.parameters)
                 if (node.kind, node.dims, layout) == (kind, tuple(dims), "")]
        head = ", input_output_alias={{ {{{}}}: ({}, {{}}, may-alias) }}".format(*rng.choice(pairs)) if pairs else ""
    return Module(head, entry.lines, shared.functions, shared.parameters, outputs, form)
