"""Modules of one kernel each, for bench_oncore: those that plans are measured by, and more of their kinds."""

REGIONS = """
largest { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b) }
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
"""

MODULES = {
    "softmax_4096x1024": REGIONS + """
ENTRY e {
  x = f32[4096,1024] parameter(0)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  top = f32[4096] reduce(x, low), dimensions={1}, to_apply=largest
  tops = f32[4096,1024] broadcast(top), dimensions={0}
  less = f32[4096,1024] subtract(x, tops)
  exps = f32[4096,1024] exponential(less)
  total = f32[4096] reduce(exps, zero), dimensions={1}, to_apply=sum
  totals = f32[4096,1024] broadcast(total), dimensions={0}
  ROOT y = f32[4096,1024] divide(exps, totals)
}""",
    "layer_norm_4096x1024": REGIONS + """
ENTRY e {
  x = f32[4096,1024] parameter(0)
  scale = f32[1024] parameter(1)
  offset = f32[1024] parameter(2)
  zero = f32[] constant(0)
  n = f32[] constant(1024)
  epsilon = f32[] constant(1e-5)
  ns = f32[4096] broadcast(n), dimensions={}
  epsilons = f32[4096] broadcast(epsilon), dimensions={}
  total = f32[4096] reduce(x, zero), dimensions={1}, to_apply=sum
  mean = f32[4096] divide(total, ns)
  means = f32[4096,1024] broadcast(mean), dimensions={0}
  centred = f32[4096,1024] subtract(x, means)
  squares = f32[4096,1024] multiply(centred, centred)
  total2 = f32[4096] reduce(squares, zero), dimensions={1}, to_apply=sum
  variance = f32[4096] divide(total2, ns)
  above = f32[4096] add(variance, epsilons)
  root = f32[4096] rsqrt(above)
  roots = f32[4096,1024] broadcast(root), dimensions={0}
  normal = f32[4096,1024] multiply(centred, roots)
  scales = f32[4096,1024] broadcast(scale), dimensions={1}
  offsets = f32[4096,1024] broadcast(offset), dimensions={1}
  scaled = f32[4096,1024] multiply(normal, scales)
  ROOT y = f32[4096,1024] add(scaled, offsets)
}""",
    "exp_4M": """
ENTRY e {
  x = f32[4194304] parameter(0)
  ROOT y = f32[4194304] exponential(x)
}""",
    "add_4M": """
ENTRY e {
  x = f32[4194304] parameter(0)
  y = f32[4194304] parameter(1)
  ROOT s = f32[4194304] add(x, y)
}""",
    "rows_4096x1024": REGIONS + """
ENTRY e {
  x = f32[4096,1024] parameter(0)
  zero = f32[] constant(0)
  ROOT y = f32[4096] reduce(x, zero), dimensions={1}, to_apply=sum
}""",
    "columns_4096x1024": REGIONS + """
ENTRY e {
  x = f32[4096,1024] parameter(0)
  zero = f32[] constant(0)
  ROOT y = f32[1024] reduce(x, zero), dimensions={0}, to_apply=sum
}""",
    "depthwise_112x112x64": """
ENTRY e {
  x = f32[1,112,112,64] parameter(0)
  w = f32[3,3,1,64] parameter(1)
  ROOT y = f32[1,112,112,64] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=64
}""",
    "pool_8x112x112x64": REGIONS + """
ENTRY e {
  x = f32[8,112,112,64] parameter(0)
  low = f32[] constant(-inf)
  ROOT y = f32[8,56,56,64] reduce-window(x, low), window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_1x0_0}, to_apply=largest
}""",
}
for suffix, dtype in (("", "f32"), ("_bf16", "bf16")):
    MODULES["matmul_1024" + suffix] = f"""
ENTRY e {{
  a = {dtype}[1024,1024] parameter(0)
  b = {dtype}[1024,1024] parameter(1)
  ROOT y = {dtype}[1024,1024] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}"""
    MODULES["transpose_2048" + suffix] = f"""
ENTRY e {{
  a = {dtype}[2048,2048] parameter(0)
  ROOT y = {dtype}[2048,2048] transpose(a), dimensions={{1,0}}
}}"""
MODULES |= {
    f"convolution_{batch}x{size}x{size}x{features}": f"""
ENTRY e {{
  x = f32[{batch},{size},{size},{features}] parameter(0)
  w = f32[3,3,{features},{features}] parameter(1)
  ROOT y = f32[{batch},{size},{size},{features}] convolution(x, w), window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f
}}"""
    for batch, size, features in ((1, 56, 64), (1, 28, 128), (1, 14, 256), (8, 14, 256), (2, 2, 512))
}


# --- more of their kinds: other types, sizes that divide nothing, strides, batches ---

MORE = {}


def add(name, body, dtype="f32", regions=REGIONS):
    """|body| writes the type of its arrays T."""
    MORE[name] = regions.replace("f32[", f"{dtype}[") + "\nENTRY e {\n" + body.replace("T[", f"{dtype}[") + "\n}"


def add_pool(name, batch, size, features, window, stride, pad, dtype="f32", region="largest", start="-inf"):
    made = (size + sum(pad) - window) // stride + 1
    pads = f"{pad[0]}_{pad[1]}"
    add(name, f"""  x = T[{batch},{size},{size},{features}] parameter(0)
  start = T[] constant({start})
  ROOT y = T[{batch},{made},{made},{features}] reduce-window(x, start), window={{size=1x{window}x{window}x1 stride=1x{stride}x{stride}x1 pad=0_0x{pads}x{pads}x0_0}}, to_apply={region}""", dtype)


def add_convolution(name, batch, size, inputs, outputs, window, stride, pad, dtype="f32", groups=1, dilation=1):
    made = (size + 2 * pad - dilation * (window - 1) - 1) // stride + 1
    add(name, f"""  x = T[{batch},{size},{size},{inputs}] parameter(0)
  w = T[{window},{window},{inputs // groups},{outputs}] parameter(1)
  ROOT y = T[{batch},{made},{made},{outputs}] convolution(x, w), window={{size={window}x{window} stride={stride}x{stride} pad={pad}_{pad}x{pad}_{pad} rhs_dilate={dilation}x{dilation}}}, dim_labels=b01f_01io->b01f, feature_group_count={groups}""", dtype, "")


def add_dot(name, left, right, result, numbers, dtype="f32"):
    add(name, f"""  a = T[{left}] parameter(0)
  b = T[{right}] parameter(1)
  ROOT y = T[{result}] dot(a, b), {numbers}""", dtype, "")


def add_more():
    for dtype in ("f32", "bf16", "s8"):
        start = "-128" if dtype == "s8" else "-inf"
        add(f"transpose_1001x2999_{dtype}", "  a = T[1001,2999] parameter(0)\n  ROOT y = T[2999,1001] transpose(a), dimensions={1,0}", dtype, "")
        add_pool(f"pool_4x55x96_{dtype}", 4, 55, 96, 3, 2, (0, 0), dtype, start=start)
        add_pool(f"pool_2x2_8x56x64_{dtype}", 8, 56, 64, 2, 2, (0, 0), dtype, start=start)
        add_pool(f"pool_stride1_8x28x192_{dtype}", 8, 28, 192, 3, 1, (1, 1), dtype, start=start)
        add_dot(f"matmul_777x999x1111_{dtype}", "777,999", "999,1111", "777,1111", "lhs_contracting_dims={1}, rhs_contracting_dims={0}", dtype)
        add(f"reverse_rows_{dtype}", "  a = T[2048,2048] parameter(0)\n  ROOT y = T[2048,2048] reverse(a), dimensions={0}", dtype, "")
        add(f"pad_{dtype}", "  a = T[2000,2000] parameter(0)\n  one = T[] constant(1)\n  ROOT y = T[2048,2050] pad(a, one), padding=24_24x25_25", dtype, "")
        add(f"concatenate_{dtype}", "  a = T[1024,2048] parameter(0)\n  b = T[1024,2048] parameter(1)\n  ROOT y = T[2048,2048] concatenate(a, b), dimensions={0}", dtype, "")
    add("transpose_8x512x12x64", "  a = T[8,512,12,64] parameter(0)\n  ROOT y = T[8,12,64,512] transpose(a), dimensions={0,2,3,1}", regions="")
    add_pool("average_8x112x112x64", 8, 112, 64, 3, 2, (0, 1), region="sum", start="0")
    for dtype in ("f32", "bf16"):
        add_convolution(f"convolution_7x7_stride2_{dtype}", 1, 224, 3, 64, 7, 2, 3, dtype)
        add_convolution(f"depthwise_stride2_{dtype}", 1, 112, 64, 64, 3, 2, 1, dtype, groups=64)
    add_convolution("convolution_stride2_8x28x28x128", 8, 28, 128, 256, 3, 2, 1)
    add_convolution("convolution_1x1_56x56x64", 1, 56, 64, 256, 1, 1, 0)
    add_convolution("convolution_3x37x37x50", 3, 37, 50, 70, 3, 1, 1)
    add_convolution("convolution_dilated_28x28x128", 1, 28, 128, 128, 3, 1, 2, dilation=2)
    add_convolution("convolution_groups_28x28x128", 1, 28, 128, 128, 3, 1, 1, groups=4)
    add_convolution("patches_8x224x224", 8, 224, 3, 768, 16, 16, 0)
    add_convolution("depthwise_5x5_28x28x192", 1, 28, 192, 192, 5, 1, 2, groups=192)
    add_convolution("depthwise_7x7_2x56x56x96", 2, 56, 96, 96, 7, 1, 3, groups=96)
    add_dot("matmul_nt", "1024,1024", "1024,1024", "1024,1024", "lhs_contracting_dims={1}, rhs_contracting_dims={1}")
    add_dot("matmul_tn", "1024,1024", "1024,1024", "1024,1024", "lhs_contracting_dims={0}, rhs_contracting_dims={0}")
    add_dot("matmul_8x4096x4096", "8,4096", "4096,4096", "8,4096", "lhs_contracting_dims={1}, rhs_contracting_dims={0}")
    add_dot("matvec_4096", "4096,4096", "4096", "4096", "lhs_contracting_dims={1}, rhs_contracting_dims={0}")
    add_dot("products_96x128x64", "96,128,64", "96,64,128", "96,128,128", "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}")
    add_dot("products_4096x8x8", "4096,8,8", "4096,8,8", "4096,8,8", "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}")
    add("running_sums_2048x1024", "  x = T[2048,1024] parameter(0)\n  zero = T[] constant(0)\n  ROOT y = T[2048,1024] reduce-window(x, zero), window={size=1x1024 pad=0_0x1023_0}, to_apply=sum")
    add("sums_64x512x256", "  x = T[64,512,256] parameter(0)\n  zero = T[] constant(0)\n  ROOT y = T[64,256] reduce(x, zero), dimensions={1}, to_apply=sum")
    add("triangle_2048", """  x = f32[2048,2048] parameter(0)
  y = f32[2048,2048] parameter(1)
  i = s32[2048,2048] iota(), iota_dimension=0
  j = s32[2048,2048] iota(), iota_dimension=1
  lower = pred[2048,2048] compare(i, j), direction=GE
  ROOT r = f32[2048,2048] select(lower, x, y)""", regions="")
    add("rows_of_30000x768", """  table = f32[30000,768] parameter(0)
  places = s32[1024] parameter(1)
  ROOT y = f32[1024,768] gather(table, places), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,768}""", regions="")


add_more()
