"""Column folds over more columns than a vector may have lanes, in the narrowest types."""

from modules import Module, wrapped

module = Module("wide_folds", "".join(f"add_{kind} {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n"
                                      f"  ROOT r = {kind}[] add(a, b)\n}}\n" for kind in ("s8", "s16")))
for kind in ("s8", "s16"):
    for count in (256, 513, 2040):
        values = [wrapped(kind, 7 * i) for i in range(count)]
        row = module.parameter(kind, [count], values)
        one = module.op(kind, [], "constant(3)")
        product = module.op(kind, [count], f"dot({row}, {one}), lhs_contracting_dims={{}}, rhs_contracting_dims={{}}")
        module.result(product, kind, [count], [wrapped(kind, 3 * v) for v in values])
        rows = [wrapped(kind, 5 * i) for i in range(3 * count)]
        block, zero = module.parameter(kind, [3, count], rows), module.op(kind, [], "constant(0)")
        total = module.op(kind, [count], f"reduce({block}, {zero}), dimensions={{0}}, to_apply=add_{kind}")
        module.result(total, kind, [count], [wrapped(kind, sum(rows[c::count])) for c in range(count)])
module.run()
