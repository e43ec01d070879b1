"""Operations that call computations."""

from .core import Computation, EXACT, any_kind, listed, live, maker, shape_text
from .indices import index


def arguments(c, kind, dims, depth):
    """Values for another computation, floats within 8."""
    shapes = [(kind, dims)] + [(any_kind(c.rng), c.rng.choice([dims, (), (3,)])) for _ in range(c.rng.randint(0, 2))]
    return [limited(c, c.make(*shape, depth)) for shape in shapes]


def limited(c, node):
    return c.small(node, 8) if node.kind in EXACT else node


def bound_of(kind):
    return 8 if kind in EXACT else None


def inner(c, nodes, as_tuple, tail, fused=False):
    """A computation of |nodes|; |tail| gives its root's text from it.  Returns its name."""
    sub = Computation(c.shared, c.nested + 1)
    name = c.shared.fresh("fn")
    shapes = [shape_text(n.kind, n.dims) for n in nodes]
    if as_tuple:
        state = sub.line(f"({', '.join(shapes)})", "parameter(0)")
    for i, n in enumerate(nodes):
        sub.node(n.kind, n.dims, f"get-tuple-element({state}), index={i}" if as_tuple else f"parameter({i})", bound_of(n.kind))
    shape, text = tail(sub)
    root = sub.line(shape, text)
    sub.lines = live(sub.lines, {root}) if fused else sub.lines  # a fusion holds no dead values
    sub.lines[-1] = "ROOT " + sub.lines[-1]
    c.shared.functions.append(f"{name} {{\n" + "".join(f"  {line}\n" for line in sub.lines) + "}")
    return name


def copied(kind, dims, depth=2):
    def tail(sub):
        return shape_text(kind, dims), f"copy({limited(sub, sub.make(kind, dims, depth)).name})"
    return tail


def several(shapes):
    def tail(sub):
        values = [limited(sub, sub.make(kind, dims, 2)) for kind, dims in shapes]
        return f"({', '.join(shape_text(*s) for s in shapes)})", f"tuple({', '.join(v.name for v in values)})"
    return tail


def parts(c, tuple_name, shapes):
    """The first of a tuple's elements; the others go to the pool."""
    return [c.node(kind, dims, f"get-tuple-element({tuple_name}), index={i}", bound_of(kind)) for i, (kind, dims) in enumerate(shapes)][0]


@maker(2)
def function(c, kind, dims, depth, exact):
    """A fusion as optimised dumps have them, or a call."""
    if c.nested > 1:
        return None
    nodes = arguments(c, kind, dims, depth)
    operands = ", ".join(n.name for n in nodes)
    fused = c.rng.random() < 0.7
    how = f"{'fusion' if fused else 'call'}({operands}), "
    how += f"kind={c.rng.choice(['kLoop', 'kLoop', 'kInput', 'kOutput'])}, calls=" if fused else "to_apply="
    if c.rng.random() < 0.3:
        shapes = [(kind, dims), (any_kind(c.rng), c.rng.choice([dims, (), (5,)]))]
        name = inner(c, nodes, False, several(shapes), fused)
        return parts(c, c.line(f"({', '.join(shape_text(*s) for s in shapes)})", how + name), shapes)
    return c.node(kind, dims, how + inner(c, nodes, False, copied(kind, dims), fused), bound_of(kind))


@maker()
def conditional(c, kind, dims, depth, exact):
    if c.nested > 1:
        return None
    nodes = arguments(c, kind, dims, depth)
    shapes = ", ".join(shape_text(n.kind, n.dims) for n in nodes)
    state = c.line(f"({shapes})", f"tuple({', '.join(n.name for n in nodes)})")
    results = [(kind, dims)] + ([(any_kind(c.rng), (3,))] if c.rng.random() < 0.3 else [])
    tail = several(results) if len(results) > 1 else copied(kind, dims)
    branches = [inner(c, nodes, True, tail) for _ in range(c.rng.choice([2, 2, 3, 5]))]
    if len(branches) == 2:
        p = c.make("pred", (), depth)
        text = f"true_computation={branches[0]}, false_computation={branches[1]}"
    else:
        p, text = index(c, depth, 2), f"branch_computations={listed(branches)}"
    text = f"conditional({', '.join([p.name] + [state] * len(branches))}), {text}"
    if len(results) > 1:
        return parts(c, c.line(f"({', '.join(shape_text(*s) for s in results)})", text), results)
    return c.node(kind, dims, text, bound_of(kind))


def while_loop(c, nodes, trips, step):
    """A loop whose state is a counter from 0 and |nodes|; |step| gives the next of these from the body.  Returns the first."""
    nodes = [c.scalar("s32", 0)] + nodes
    shapes = [(n.kind, n.dims) for n in nodes]
    text = f"({', '.join(shape_text(*s) for s in shapes)})"
    state = c.line(text, f"tuple({', '.join(n.name for n in nodes)})")

    def more(sub):
        return "pred[]", f"compare({sub.pool[0].name}, {sub.scalar('s32', trips).name}), direction=LT"

    def body(sub):
        i = sub.pool[0]
        nexts = [sub.node("s32", (), f"add({i.name}, {sub.scalar('s32', 1).name})")] + step(sub)
        return text, f"tuple({', '.join(n.name for n in nexts)})"
    loop = c.line(text, f"while({state}), condition={inner(c, nodes, True, more)}, body={inner(c, nodes, True, body)}")
    gets = [c.node(*s, f"get-tuple-element({loop}), index={i}", bound_of(s[0])) for i, s in enumerate(shapes)]
    return gets[1]


@maker(2)
def loop(c, kind, dims, depth, exact):
    if c.nested > 1:
        return None
    nodes = arguments(c, kind, dims, depth)

    def step(sub):
        return [limited(sub, sub.make(n.kind, n.dims, c.rng.choice([0, 1, 2]))) for n in nodes]
    return while_loop(c, nodes, c.rng.choice([0, 1, 2, 3, 5]), step)


@maker(2)
def scan(c, kind, dims, depth, exact):
    """A loop that reads a slice of one array per turn and updates another in place, with what it carries in between."""
    if c.nested > 1 or not dims or dims[0] == 0:
        return None
    row, rng = (1,) + tuple(dims[1:]), c.rng
    nodes = [limited(c, c.make(kind, d, depth)) for d in (dims, dims, row)]

    def step(sub):
        i, into, source, carried = sub.pool[:4]
        zeros = "".join(f", {sub.scalar('s32', 0).name}" for _ in row[1:])

        def read(array):
            return sub.node(kind, row, f"dynamic-slice({array.name}, {i.name}{zeros}), dynamic_slice_sizes={listed(row)}", bound_of(kind))
        if rng.random() < 0.7:
            read(source)
        old = read(into) if rng.random() < 0.4 else None
        new = limited(sub, sub.make(kind, row, 2))
        after = sub.node(kind, dims, f"dynamic-update-slice({into.name}, {new.name}, {i.name}{zeros})", bound_of(kind))
        if rng.random() < 0.2:
            after = sub.node(kind, dims, f"dynamic-update-slice({after.name}, {carried.name}, {sub.scalar('s32', 0).name}{zeros})", bound_of(kind))
        carries = old if old and rng.random() < 0.5 else limited(sub, sub.make(kind, row, 1))
        return [after, source if rng.random() < 0.7 else into, carries]
    return while_loop(c, nodes, rng.choice([0, 1, 3, dims[0]]) if dims[0] < 20 else 3, step)
