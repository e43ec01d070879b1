"""Products of constants and of parameters; constants hold 0, 1, 2 ... from a number of their own on."""


def constant(name, rows, columns, first):
    text = ", ".join("{" + ", ".join(str(first + i * columns + j) for j in range(columns)) + "}" for i in range(rows))
    print(f"  {name} = f32[{rows},{columns}] constant({{ {text} }})")


print("HloModule panels\n\nENTRY main {")
for number, (name, shape) in enumerate([("x", "20,64"), ("y", "4,64"), ("w", "64,128"), ("v", "128,64"), ("z", "64,64"), ("d", "20,192")]):
    print(f"  {name} = f32[{shape}] parameter({number})")
for number, (name, rows, columns) in enumerate(
    [("rows", 64, 128), ("columns", 128, 64), ("alone", 64, 128), ("shown", 64, 128), ("uneven", 64, 100), ("deep", 192, 128)]
):
    constant(name, rows, columns, 10000 * number)
for name, left, rows, right, columns, depth in [
    ("many", "x", 20, "rows", 128, 0),
    ("turned", "x", 20, "columns", 128, 1),
    ("few", "y", 4, "alone", 128, 0),
    ("seen", "x", 20, "shown", 128, 0),
    ("odd", "x", 20, "uneven", 100, 0),
    ("long", "d", 20, "deep", 128, 0),
    ("first", "x", 20, "w", 128, 0),
    ("second", "x", 20, "v", 128, 1),
    ("third", "x", 20, "w", 128, 0),
    ("last", "y", 4, "w", 128, 0),
    ("inner", "z", 64, "w", 128, 0),
    ("outer", "x", 20, "inner", 128, 0),
]:
    print(f"  {name} = f32[{rows},{columns}] dot({left}, {right}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{{depth}}}")
print("  sum = f32[20,128] add(first, third)")
print(
    "  ROOT all = (f32[20,128], f32[20,128], f32[4,128], f32[20,128], f32[20,100], f32[20,128], f32[20,128], f32[4,128], f32[64,128], f32[20,128], f32[20,128])"
    " tuple(many, turned, few, seen, odd, sum, second, last, shown, outer, long)\n}"
)
