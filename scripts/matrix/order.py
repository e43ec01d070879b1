"""Sorts and top-k."""

from .case import text_of
from .types import COMPLEX, FLOATS, KINDS


def orders(table):
    for kind, (part, _) in COMPLEX.items():
        case = table.case(f"sort/{kind}")
        compare = case.computation([f"a = {kind}[] parameter(0)", f"b = {kind}[] parameter(1)", f"x = {part}[] real(a)", f"y = {part}[] real(b)",
                                    "ROOT r = pred[] compare(x, y), direction=LT"])
        for dims, dimension in (((33,), 0), ((5, 17), 1), ((17, 5), 0)):
            case.keep(kind, dims, f"sort({case.input(kind, dims, 'small')}), dimensions={{{dimension}}}, is_stable=true, to_apply={compare}")
    for kind in KINDS:
        if kind in COMPLEX:
            continue
        case = table.case(f"sort/{kind}")
        order = ", type=TOTALORDER" if kind in FLOATS else ""
        for direction in ("LT", "GT"):
            compare = case.computation([f"a = {kind}[] parameter(0)", f"b = {kind}[] parameter(1)",
                                        f"ROOT r = pred[] compare(a, b), direction={direction}{order}"])
            for dims, dimension in (((33,), 0), ((1,), 0), ((5, 17), 1), ((17, 5), 0), ((0, 4), 0), ((128,), 0)):
                operand = case.input(kind, dims)
                case.keep(kind, dims, f"sort({operand}), dimensions={{{dimension}}}, is_stable=true, to_apply={compare}")
        case = table.case(f"sort-pairs/{kind}")
        compare = case.computation([f"a = {kind}[] parameter(0)", f"b = {kind}[] parameter(1)", "i = s32[] parameter(2)",
                                    "j = s32[] parameter(3)", "ROOT r = pred[] compare(a, b), direction=LT"])
        for dims, dimension in (((33,), 0), ((5, 17), 1), ((65, 2), 0)):
            operand = case.input(kind, dims, "small")
            positions = case.add("s32", dims, f"iota(), iota_dimension={dimension}")
            both = case.add(f"({text_of(kind, dims)}, {text_of('s32', dims)})", None,
                            f"sort({operand}, {positions}), dimensions={{{dimension}}}, is_stable=true, to_apply={compare}")
            case.keep(kind, dims, f"get-tuple-element({both}), index=0")
            case.keep("s32", dims, f"get-tuple-element({both}), index=1")
    for kind in KINDS:
        if kind in COMPLEX or kind == "pred":
            continue
        case = table.case(f"topk/{kind}")
        for dims, k in (((33,), 5), ((4, 20), 20), ((3, 17), 1)):
            result = (*dims[:-1], k)
            both = case.add(f"({text_of(kind, result)}, {text_of('s32', result)})", None,
                            f"topk({case.input(kind, dims, 'small')}), k={k}, largest=true")
            case.keep(kind, result, f"get-tuple-element({both}), index=0")
