"""What moves elements: broadcasts, slices, gathers, scatters …"""

from .compare import EXACT, bound
from .types import COMPLEX, FLOATS, KINDS, POSITIVE

RECORDED = ("f32", "s32", "u8", "bf16", "f64", "c64", "s64", "s8", "pred", "c128")


def moved(table, name, kind):
    return table.case(name, EXACT, "" if kind in RECORDED else "bytes are moved: XLA's results are of types of each width")


def movements(table):
    for kind in KINDS:
        case = moved(table, f"broadcast/{kind}", kind)
        case.keep(kind, (7, 33), f"broadcast({case.input(kind, ())}), dimensions={{}}")
        case.keep(kind, (17, 5), f"broadcast({case.input(kind, (5,))}), dimensions={{1}}")
        case.keep(kind, (17, 5), f"broadcast({case.input(kind, (17,))}), dimensions={{0}}", (0, 1))
        case.keep(kind, (3, 17, 5, 2), f"broadcast({case.input(kind, (3, 5))}), dimensions={{0,2}}")
        case.keep(kind, (3, 0), f"broadcast({case.input(kind, (3,))}), dimensions={{0}}")
        case = moved(table, f"transpose/{kind}", kind)
        for dims, permutation, layout in (((5, 7), (1, 0), None), ((33, 65), (1, 0), None), ((3, 4, 17), (2, 0, 1), None),
                                          ((3, 4, 5), (0, 2, 1), (1, 0, 2)), ((2, 3, 4, 5), (3, 1, 2, 0), None)):
            result = tuple(dims[i] for i in permutation)
            case.keep(kind, result, f"transpose({case.input(kind, dims)}), dimensions={{{','.join(map(str, permutation))}}}",
                      layout)
        case = moved(table, f"reverse/{kind}", kind)
        for dims, reversed_dims in (((33,), "0"), ((5, 17), "1"), ((3, 4, 9), "0,2"), ((4, 0), "0")):
            case.keep(kind, dims, f"reverse({case.input(kind, dims)}), dimensions={{{reversed_dims}}}")
        case = moved(table, f"slice/{kind}", kind)
        case.keep(kind, (14,), f"slice({case.input(kind, (33,))}), slice={{[3:30:2]}}")
        case.keep(kind, (4, 7), f"slice({case.input(kind, (6, 17))}), slice={{[1:5], [10:17]}}")
        case.keep(kind, (2, 3, 1), f"slice({case.input(kind, (6, 17, 2))}), slice={{[0:6:5], [2:17:7], [1:2]}}")
        case.keep(kind, (0, 17), f"slice({case.input(kind, (6, 17))}), slice={{[3:3], [0:17]}}")
        case = moved(table, f"pad/{kind}", kind)
        for dims, padding, result in (((5,), "2_3", (10,)), ((5,), "1_0_2", (14,)), ((9,), "-2_-3", (4,)),
                                      ((3, 7), "1_2x-1_3", (6, 9)), ((4, 5), "0_0_1x-2_1_3", (7, 16)), ((0, 3), "2_1x0_0", (3, 3))):
            operand, value = case.input(kind, dims), case.input(kind, ())
            case.keep(kind, result, f"pad({operand}, {value}), padding={padding}")
        case = moved(table, f"concatenate/{kind}", kind)
        for shapes, dimension in ((((5,), (17,), (0,), (1,)), 0), (((3, 4), (3, 9)), 1), (((2, 33), (5, 33), (1, 33)), 0)):
            operands = [case.input(kind, dims) for dims in shapes]
            result = list(shapes[0])
            result[dimension] = sum(dims[dimension] for dims in shapes)
            case.keep(kind, result, f"concatenate({', '.join(operands)}), dimensions={{{dimension}}}")
        case = moved(table, f"reshape/{kind}", kind)
        for dims, result in (((6, 35), (14, 15)), ((), (1, 1)), ((64,), (4, 16)), ((2, 3, 4, 5), (120,)), ((0, 3), (3, 0))):
            case.keep(kind, result, f"reshape({case.input(kind, dims)})")
        dynamic(table, kind)
        indexed(table, kind)
    for kind in KINDS:
        if kind in ("pred", POSITIVE):
            continue
        case = moved(table, f"iota/{kind}", kind)
        for dims, dimension in (((65,), 0), ((3, 17), 1), ((17, 3), 0), ((2, 5, 3), 1), ((0,), 0)):
            case.keep(kind, dims, f"iota(), iota_dimension={dimension}")


def dynamic(table, kind):
    case = moved(table, f"dynamic-slice/{kind}", kind)
    for dims, sizes in (((33,), (16,)), ((7, 19), (3, 5)), ((4, 5, 6), (4, 1, 3))):
        operand = case.input(kind, dims)
        for index in ("s32", "u8", "s64"):
            starts = [case.input(index, (), "index", most=d) for d in dims]
            case.keep(kind, sizes, f"dynamic-slice({operand}, {', '.join(starts)}), "
                                   f"dynamic_slice_sizes={{{','.join(map(str, sizes))}}}")
    case = moved(table, f"dynamic-update-slice/{kind}", kind)
    for dims, sizes in (((33,), (16,)), ((7, 19), (3, 5)), ((4, 5, 6), (4, 1, 3)), ((6,), (0,))):
        operand, update = case.input(kind, dims), case.input(kind, sizes)
        starts = [case.input("s32", (), "index", most=d) for d in dims]
        case.keep(kind, dims, f"dynamic-update-slice({operand}, {update}, {', '.join(starts)})")


def indexed(table, kind):
    case = moved(table, f"gather/{kind}", kind)
    operand = case.input(kind, (11, 7))
    for index in ("s32", "u8", "s64"):
        indices = case.input(index, (17, 1), "index", most=11)
        case.keep(kind, (17, 7), f"gather({operand}, {indices}), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
                                 "index_vector_dim=1, slice_sizes={1,7}")
    indices = case.input("s32", (2, 9), "index", most=8)
    case.keep(kind, (3, 9, 2), f"gather({operand}, {indices}), offset_dims={{0,2}}, collapsed_slice_dims={{}}, start_index_map={{1,0}}, "
                               "index_vector_dim=0, slice_sizes={3,2}")
    indices = case.input("s32", (5, 6), "index", most=11)
    case.keep(kind, (5, 6, 2), f"gather({operand}, {indices}), offset_dims={{2}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
                               "index_vector_dim=2, slice_sizes={1,2}")
    batched = case.input(kind, (4, 9))
    indices = case.input("s32", (4, 3, 1), "index", most=9)
    case.keep(kind, (4, 3), f"gather({batched}, {indices}), offset_dims={{}}, collapsed_slice_dims={{1}}, start_index_map={{1}}, "
                            "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1}")
    for op in ("add", "maximum", "multiply", "assign"):
        if kind == "pred" and op != "assign" or kind in COMPLEX and op == "maximum":
            continue
        inexact = op in ("add", "multiply") and (kind in FLOATS or kind in COMPLEX)
        case = moved(table, f"scatter/{op}/{kind}", kind)
        case.rule = bound(64, 64) if inexact else EXACT
        combine = case.computation([f"a = {kind}[] parameter(0)", f"b = {kind}[] parameter(1)",
                                    f"ROOT r = {kind}[] {'copy(b)' if op == 'assign' else op + '(a, b)'}"])
        style = "edge" if case.rule == EXACT else "small"
        operand = case.input(kind, (11, 7), style)
        # With 'assign' no place may be hit twice: which one stays is not defined.
        indices = (case.parameter("s32", (9, 1), [3, -1, 0, 10, 11, 5, 7, 2, 8]) if op == "assign"
                   else case.input("s32", (9, 1), "index", most=11))
        updates = case.input(kind, (9, 7), style)
        case.keep(kind, (11, 7), f"scatter({operand}, {indices}, {updates}), update_window_dims={{1}}, inserted_window_dims={{0}}, "
                                 f"scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={combine}")
        if op == "assign":
            continue
        indices, updates = case.input("s32", (2, 5), "index", most=9), case.input(kind, (5, 3, 2), style)
        case.keep(kind, (11, 7), f"scatter({operand}, {indices}, {updates}), update_window_dims={{1,2}}, inserted_window_dims={{}}, "
                                 f"scatter_dims_to_operand_dims={{0,1}}, index_vector_dim=0, to_apply={combine}")
