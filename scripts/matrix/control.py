"""Loops, branches, map."""

from .compare import EXACT, bound
from .types import COMPLEX, KINDS


def control(table):
    case = table.case("while/sum")
    state = "(s32[], f32[17])"
    condition = case.computation([f"s = {state} parameter(0)", "i = s32[] get-tuple-element(s), index=0", "n = s32[] constant(10)",
                                  "ROOT r = pred[] compare(i, n), direction=LT"])
    body = case.computation([f"s = {state} parameter(0)", "i = s32[] get-tuple-element(s), index=0", "one = s32[] constant(1)",
                             "j = s32[] add(i, one)", "v = f32[17] get-tuple-element(s), index=1", "w = f32[17] add(v, v)",
                             f"ROOT r = {state} tuple(j, w)"])
    for start in (0, 3, 10, 12):
        init = case.add(state, None, f"tuple({case.parameter('s32', (), [start])}, {case.input('f32', (17,), 'small')})")
        done = case.add(state, None, f"while({init}), condition={condition}, body={body}")
        case.keep("s32", (), f"get-tuple-element({done}), index=0")
        case.keep("f32", (17,), f"get-tuple-element({done}), index=1")
    case = table.case("while/swap")
    state = "(s32[], f32[9], f32[9])"
    condition = case.computation([f"s = {state} parameter(0)", "i = s32[] get-tuple-element(s), index=0", "n = s32[] constant(5)",
                                  "ROOT r = pred[] compare(i, n), direction=LT"])
    body = case.computation([f"s = {state} parameter(0)", "i = s32[] get-tuple-element(s), index=0", "one = s32[] constant(1)",
                             "j = s32[] add(i, one)", "a = f32[9] get-tuple-element(s), index=1",
                             "b = f32[9] get-tuple-element(s), index=2", f"ROOT r = {state} tuple(j, b, a)"])
    init = case.add(state, None, f"tuple({case.parameter('s32', (), [0])}, {case.input('f32', (9,))}, {case.input('f32', (9,))})")
    done = case.add(state, None, f"while({init}), condition={condition}, body={body}")
    for i in (1, 2):
        case.keep("f32", (9,), f"get-tuple-element({done}), index={i}")
    case = table.case("conditional/index")
    branches = [case.computation(["x = f32[33] parameter(0)", f"ROOT r = f32[33] {op}"])
                for op in ("negate(x)", "abs(x)", "add(x, x)")]
    operand = case.input("f32", (33,))
    for choice in (-1, 0, 1, 2, 3):
        index = case.parameter("s32", (), [choice])
        case.keep("f32", (33,), f"conditional({index}, {operand}, {operand}, {operand}), branch_computations={{{', '.join(branches)}}}")
    for kind in KINDS:
        case = table.case(f"map/{kind}", bound(4, 8) if kind in COMPLEX else EXACT)
        function = case.computation([f"a = {kind}[] parameter(0)", f"b = {kind}[] parameter(1)", f"m = {kind}[] multiply(a, b)",
                                     f"ROOT r = {kind}[] add(m, a)"])
        for dims in ((33,), (5, 7), ()):
            operands = [case.input(kind, dims, "small") for _ in range(2)]
            order = ",".join(str(i) for i in range(len(dims)))
            case.keep(kind, dims, f"map({', '.join(operands)}), dimensions={{{order}}}, to_apply={function}")
