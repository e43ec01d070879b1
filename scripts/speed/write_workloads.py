#!/usr/bin/env python3
"""Writes the modules of testdata/bench/data that JAX makes, and beside each what its inputs are.

  PYTHON scripts/speed/write_workloads.py FOLDER [NAME...]

A python with jax.  For each workload NAME.hlo is the text and NAME.json the rules of inputs that are not normal numbers,
in the form of a test case's meta.json.
"""

import functools
import json
import pathlib
import sys

import jax
import jax.numpy as jnp
from jax import lax

WORKLOADS = {}


def floats(*dims, type="f32", **rule):
    """A parameter: its type, its dimensions, and the rule that its values follow ({}: normal)."""
    return type, dims, rule


def integers(*dims, low=0, high=8, type="s32"):
    return type, dims, {"kind": "int", "lo": low, "hi": high}


def workload(name, *parameters):
    def add(function):
        WORKLOADS[name] = (function, parameters)
        return function

    return add


# --- products ---


def product(name, *parameters, **options):
    WORKLOADS[name] = (lambda a, b: jnp.matmul(a, b, **options), parameters)


product("matmul_bf16_1024", floats(1024, 1024, type="bf16"), floats(1024, 1024, type="bf16"))
product("matmul_f16_1024", floats(1024, 1024, type="f16"), floats(1024, 1024, type="f16"))
product("matmul_s8_1024", integers(1024, 1024, low=-128, high=128, type="s8"),
        integers(1024, 1024, low=-128, high=128, type="s8"), preferred_element_type=jnp.int32)
product("matvec_4096", floats(4096, 4096), floats(4096))
product("vecmat_4096", floats(4096), floats(4096, 4096))
product("batched_96x128x64x128", floats(96, 128, 64), floats(96, 64, 128))


@workload("mlp_128x512x2048", floats(128, 512), floats(512, 2048), floats(2048), floats(2048, 2048), floats(2048),
          floats(2048, 512), floats(512))
def mlp(x, a, p, b, q, c, r):
    h = jax.nn.relu(x @ a + p)
    return jax.nn.relu(h @ b + q) @ c + r


@workload("weights_s8_1x4096x4096", floats(1, 4096), integers(4096, 4096, low=-127, high=128, type="s8"), floats(4096))
def weights_s8(x, weights, scales):
    return (x @ weights.astype(jnp.float32)) * scales


@workload("weights_s8_rows_1x4096x4096", floats(1, 4096), integers(4096, 4096, low=-127, high=128, type="s8"), floats(4096))
def weights_s8_rows(x, weights, scales):
    return lax.dot_general(x, weights.astype(jnp.float32) * scales[:, None], (((1,), (1,)), ((), ())))


@workload("weights_s4_1x4096x4096", floats(1, 4096), integers(4096, 2048, low=-128, high=128, type="s8"),
          floats(4096, 128))
def weights_s4(x, packed, scales):
    low = jnp.right_shift(jnp.left_shift(packed, 4), 4)
    high = jnp.right_shift(packed, 4)
    weights = jnp.stack([low, high], axis=-1).reshape(4096, 4096).astype(jnp.float32)
    weights = (weights.reshape(4096, 128, 32) * scales[:, :, None]).reshape(4096, 4096)
    return x @ weights.T


# --- rows and elements ---


@workload("softmax_4096x1024", floats(4096, 1024))
def softmax(x):
    return jax.nn.softmax(x, axis=-1)


@workload("layer_norm_4096x1024", floats(4096, 1024), floats(1024), floats(1024))
def layer_norm(x, scale, bias):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


WORKLOADS["layer_norm_f16_512x768"] = (layer_norm, (floats(512, 768, type="f16"), floats(768, type="f16"), floats(768, type="f16")))
WORKLOADS["stencil_f16_512"] = (lambda x: x[1:-1, 1:-1] * 2 + x[:-2, 1:-1] + x[2:, 1:-1] - x[1:-1, :-2] * x[1:-1, 2:], (floats(512, 512, type="f16"),))

M16 = 16 * 1024 * 1024
WORKLOADS["tiny_add_16"] = (jnp.add, (floats(16), floats(16)))
WORKLOADS["add_16m"] = (jnp.add, (floats(M16), floats(M16)))
WORKLOADS["gelu_tanh_16m"] = (lambda x: jax.nn.gelu(x, approximate=True), (floats(M16),))
WORKLOADS["gelu_erf_16m"] = (lambda x: jax.nn.gelu(x, approximate=False), (floats(M16),))
WORKLOADS["sum_rows_4096"] = (lambda x: x.sum(1), (floats(4096, 4096),))
WORKLOADS["sum_columns_4096"] = (lambda x: x.sum(0), (floats(4096, 4096),))
WORKLOADS["sum_columns_128"] = (lambda x: x.sum(0), (floats(128, 128, 128),))
WORKLOADS["sum_16m"] = (jnp.sum, (floats(M16),))
WORKLOADS["argmax_rows_4096"] = (lambda x: jnp.argmax(x, axis=1), (floats(4096, 4096),))
WORKLOADS["transpose_4096"] = (jnp.transpose, (floats(4096, 4096),))
WORKLOADS["cumsum_1m"] = (jnp.cumsum, (floats(1 << 20),))
WORKLOADS["cumsum_rows_1024"] = (lambda x: jnp.cumsum(x, 1), (floats(1024, 1024),))
WORKLOADS["cumsum_columns_360x160x120x3"] = (lambda x: jnp.cumsum(x, 0), (floats(360, 160, 120, 3),))


# --- convolutions ---


def convolution(name, image, kernel, stride=1, padding="SAME", groups=1, labels=("NHWC", "HWIO", "NHWC")):
    WORKLOADS[name] = (lambda x, w: lax.conv_general_dilated(x, w, (stride, stride), padding, dimension_numbers=labels,
                                                             feature_group_count=groups), (floats(*image), floats(*kernel)))


convolution("convolution_56x56x64", (1, 56, 56, 64), (3, 3, 64, 64))
convolution("convolution_14x14x256", (1, 14, 14, 256), (3, 3, 256, 256))
convolution("convolution_7x7x512", (1, 7, 7, 512), (3, 3, 512, 512))
convolution("convolution_224x224x3_7x7", (1, 224, 224, 3), (7, 7, 3, 64), stride=2)
convolution("convolution_nchw_28x28x128", (1, 128, 28, 28), (128, 128, 3, 3), labels=("NCHW", "OIHW", "NCHW"))
convolution("depthwise_56x56x128", (1, 56, 56, 128), (3, 3, 1, 128), groups=128)


@workload("max_pool_112x112x64", floats(1, 112, 112, 64))
def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


@workload("average_pool_same", floats(8, 128, 128, 16))
def average_pool(x):
    sums = lax.reduce_window(x, 0.0, lax.add, (1, 5, 5, 1), (1, 1, 1, 1), "SAME")
    counts = lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, (1, 5, 5, 1), (1, 1, 1, 1), "SAME")
    return sums / counts


@workload("weight_gradient_3x3", floats(8, 64, 64, 32), floats(3, 3, 32, 32), floats(8, 64, 64, 32))
def weight_gradient(x, w, g):
    def loss(w):
        return (lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) * g).sum()

    return jax.grad(loss)(w)


@workload("convolution_in_loop_nchw", floats(8, 16, 32, 32), floats(16, 16, 3, 3))
def convolution_in_loop(x, w):
    def step(_, y):
        return lax.conv_general_dilated(y, w * 0.05, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))

    return lax.fori_loop(0, 10, step, x)


@workload("convolution_transposed_1d", floats(4, 1024, 64), floats(8, 64, 64))
def convolution_transposed(x, w):
    return lax.conv_transpose(x, w, (4,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))


# --- loops ---


@workload("lstm_128x8x256", floats(128, 8, 256), floats(512, 1024, scale=0.05), floats(1024))
def lstm(xs, weights, bias):
    def step(state, x):
        h, c = state
        gates = jnp.concatenate([x, h], -1) @ weights + bias
        i, f, g, o = jnp.split(gates, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((8, 256))
    return lax.scan(step, (zero, zero), xs)[1]


@workload("heat_512_100", floats(512, 512))
def heat(u):
    def step(_, u):
        inner = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        return u.at[1:-1, 1:-1].set(inner)

    return lax.fori_loop(0, 100, step, u)


# With 0.5 the state would vanish after 300 steps: most of the time would go to subnormal numbers, which XLA flushes.
@workload("scan_3x3_2000", floats(2000, 3, 3, scale=0.7), floats(3, 3))
def scan_3x3(ms, x):
    return lax.scan(lambda x, m: (x @ m, None), x, ms)[0]


@workload("roll_in_loop_4096", floats(4096))
def roll_in_loop(x):
    return lax.fori_loop(0, 100, lambda i, x: x.at[i].set(x[i] + x[i + 1]), x)


@workload("eliminate_256x6x6", floats(256, 6, 6, offset=3.0))
def eliminate(a):
    for i in range(5):
        a = a.at[:, i + 1:, :].add(-a[:, i + 1:, i:i + 1] / a[:, i:i + 1, i:i + 1] * a[:, i:i + 1, :])
    return a


@workload("difference_gradient_192", floats(192, 192, 96))
def difference_gradient(x):
    def loss(x):
        return sum((jnp.diff(x, axis=axis) ** 2).sum() for axis in range(3))

    return jax.grad(loss)(x)


# --- random numbers, order, indices, transforms ---


@workload("threefry_uniform_1m", integers(2, high=1 << 30, type="u32"))
def uniform(key):
    return jax.random.uniform(jax.random.wrap_key_data(key), (1 << 20,))


@workload("threefry_normal_1m", integers(2, high=1 << 30, type="u32"))
def normal(key):
    return jax.random.normal(jax.random.wrap_key_data(key), (1 << 20,))


WORKLOADS["sort_1m"] = (jnp.sort, (floats(1 << 20),))
WORKLOADS["sort_rows_4096x256"] = (lambda x: jnp.sort(x, 1), (floats(4096, 256),))
WORKLOADS["argsort_1m"] = (jnp.argsort, (floats(1 << 20),))
WORKLOADS["argsort_columns_100x10000"] = (lambda x: jnp.argsort(x, 0), (floats(100, 10000),))
WORKLOADS["top_64_of_50257"] = (lambda x: lax.top_k(x, 64), (floats(50257),))
WORKLOADS["gather_4096x768"] = (lambda t, i: t[i], (floats(50257, 768), integers(4096, high=50257)))
WORKLOADS["segment_sum_rows_64k_64"] = (lambda x, s: jax.ops.segment_sum(x, s, 1024), (floats(65536, 64), integers(65536, high=1024)))
WORKLOADS["segment_sum_1m_10k"] = (lambda x, s: jax.ops.segment_sum(x, s, 10000), (floats(1 << 20), integers(1 << 20, high=10000)))
WORKLOADS["set_ones_300"] = (lambda i: jnp.ones((300, 300, 300)).at[i, i, i].set(0.0), (integers(300, high=300),))


@workload("pair_bincounts_6x1m", integers(6, 1 << 20, high=16))
def pair_bincounts(x):
    counts = [jnp.bincount(x[i] * 16 + x[j], length=256) for i in range(6) for j in range(i)]
    return jnp.stack(counts)


WORKLOADS["fft_1024x1024"] = (lambda r, i: jnp.abs(jnp.fft.fft(lax.complex(r, i))), (floats(1024, 1024), floats(1024, 1024)))
WORKLOADS["fft_c64_1024x1024"] = (jnp.fft.fft, (floats(1024, 1024, type="c64"),))
WORKLOADS["rfft_1024x1024"] = (jnp.fft.rfft, (floats(1024, 1024),))
WORKLOADS["fftn_128"] = (jnp.fft.fftn, (floats(128, 128, 128, type="c64"),))


# --- networks ---


def resnet_parameters(widths):
    yield floats(7, 7, 3, 64, scale=0.1)
    yield floats(64)
    inside = 64
    for blocks, width in widths:
        for block in range(blocks):
            for shape in ((1, 1, inside, width), (3, 3, width, width), (1, 1, width, 4 * width)):
                yield floats(*shape, scale=(shape[0] * shape[1] * shape[2]) ** -0.5)
                yield floats(shape[3])
            if block == 0:
                yield floats(1, 1, inside, 4 * width, scale=inside ** -0.5)
                yield floats(4 * width)
            inside = 4 * width
    yield floats(inside, 1000, scale=0.02)
    yield floats(1000)


WIDTHS = ((3, 64), (4, 128), (6, 256), (3, 512))


def resnet(labels, x, *parameters):
    it = iter(parameters)

    def layer(x, stride):
        kernel, bias = next(it), next(it)
        if labels[1] == "OIHW":
            kernel = kernel.transpose(3, 2, 0, 1)
            bias = bias[:, None, None]
        return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=labels) + bias

    window = (1, 3, 3, 1) if labels[0] == "NHWC" else (1, 1, 3, 3)
    strides = (1, 2, 2, 1) if labels[0] == "NHWC" else (1, 1, 2, 2)
    x = lax.reduce_window(jax.nn.relu(layer(x, 2)), -jnp.inf, lax.max, window, strides, "SAME")
    for stage, (blocks, _) in enumerate(WIDTHS):
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 0 else 1
            y = jax.nn.relu(layer(x, 1))
            y = jax.nn.relu(layer(y, stride))
            y = layer(y, 1)
            x = jax.nn.relu(y + (layer(x, stride) if block == 0 else x))
    x = x.mean((1, 2) if labels[0] == "NHWC" else (2, 3))
    return x @ next(it) + next(it)


WORKLOADS["resnet50_224"] = (functools.partial(resnet, ("NHWC", "HWIO", "NHWC")),
                             (floats(1, 224, 224, 3), *resnet_parameters(WIDTHS)))
WORKLOADS["resnet50_nchw_224"] = (functools.partial(resnet, ("NCHW", "OIHW", "NCHW")),
                                  (floats(1, 3, 224, 224), *resnet_parameters(WIDTHS)))


def layers(count, width, hidden):
    small = width ** -0.5
    return [floats(count, width, 3 * width, scale=small), floats(count, width, width, scale=small),
            floats(count, width, hidden, scale=small), floats(count, hidden, width, scale=hidden ** -0.5)]


def norm(x):
    x = x - x.mean(-1, keepdims=True)
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)


@workload("decode_4x1024_kv512", floats(1024), floats(4, 2, 512, 16, 64), *layers(4, 1024, 4096), floats(1024, 32000, scale=0.03))
def decode(x, cache, qkv, out, up, down, head):
    caches = []
    for i in range(4):
        q, k, v = jnp.split(norm(x) @ qkv[i], 3)
        kv = cache[i].at[:, 511].set(jnp.stack([k, v]).reshape(2, 16, 64))
        scores = jnp.einsum("hd,shd->hs", q.reshape(16, 64), kv[0]) / 8
        x = x + jnp.einsum("hs,shd->hd", jax.nn.softmax(scores), kv[1]).reshape(1024) @ out[i]
        x = x + jax.nn.gelu(norm(x) @ up[i]) @ down[i]
        caches.append(kv)
    return norm(x) @ head, jnp.stack(caches)


@workload("transformer_train_4x128x512", floats(4, 128, 512), *layers(1, 512, 2048), floats(4, 128, 512))
def transformer_train(x, qkv, out, up, down, wanted):
    def loss(weights):
        qkv, out, up, down = (w[0] for w in weights)
        q, k, v = (t.reshape(4, 128, 8, 64) for t in jnp.split(norm(x) @ qkv, 3, -1))
        scores = jnp.einsum("bshd,bthd->bhst", q, k) / 8
        y = x + jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores), v).reshape(4, 128, 512) @ out
        y = y + jax.nn.gelu(norm(y) @ up) @ down
        return ((y - wanted) ** 2).mean()

    value, gradients = jax.value_and_grad(loss)((qkv, out, up, down))
    return value, [w - 0.01 * g for w, g in zip((qkv, out, up, down), gradients)]


TYPES = {"f32": jnp.float32, "f16": jnp.float16, "bf16": jnp.bfloat16, "s8": jnp.int8, "s32": jnp.int32, "u32": jnp.uint32, "c64": jnp.complex64}


def write(folder, name):
    from jaxlib import _hlo

    function, parameters = WORKLOADS[name]
    shapes = [jax.ShapeDtypeStruct(dims, TYPES[type]) for type, dims, _ in parameters]
    computation = jax.jit(function).lower(*shapes).compiler_ir("hlo")
    printing = _hlo.HloPrintOptions.short_parsable()
    printing.print_metadata = False
    text = _hlo.HloModule.from_serialized_hlo_module_proto(computation.as_serialized_hlo_module_proto()).to_string(printing)
    (folder / f"{name}.hlo").write_text(text.rstrip() + "\n")
    if any(rule for _, _, rule in parameters):
        meta = {"params": [{"init": {"kind": "normal", **rule}} for _, _, rule in parameters]}
        (folder / f"{name}.json").write_text(json.dumps(meta) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:] or WORKLOADS:
        write(folder, name)


if __name__ == "__main__":
    main()
