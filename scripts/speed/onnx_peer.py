"""A process that runs the ONNX form of a workload in ONNX Runtime, for scripts/bench: peer.serve says how it is spoken to.

FORMS has a function for each workload that has such a form.  It gets the names of the inputs and their arrays, gives nodes, and says which inputs
are weights: those become constants of the graph, which ONNX Runtime packs when it loads it.
"""

import peer

OPSET = 20
FORMS = {}


def form(*names, weights=(), arrange=None):
    """|arrange|: changes the arrays, by index, into the order that ONNX wants."""

    def add(function):
        for name in names:
            FORMS[name] = (function, set(weights), arrange or {})
        return function

    return add


def node(kind, inputs, outputs="r", **attributes):
    from onnx import helper

    return helper.make_node(kind, inputs, [outputs] if isinstance(outputs, str) else outputs, **attributes)


def single(kind, *names, weights=(), arrange=None, **attributes):
    form(*names, weights=weights, arrange=arrange)(lambda inputs, constants: [node(kind, inputs, **attributes)])


single("Add", "add_16m", "tiny_add_16")
single("MatMul", "matmul_512", "matmul_1024", "matmul_2048", "matvec_4096", "vecmat_4096", "batched_96x128x64x128")
single("MatMulInteger", "matmul_s8_1024")
single("Softmax", "softmax", "softmax_4096x1024", axis=-1)
single("Gelu", "gelu_tanh_16m", approximate="tanh")
single("Gelu", "gelu_erf_16m")
single("LayerNormalization", "layer_norm_4096x1024", axis=-1, epsilon=1e-5)
single("ArgMax", "argmax_rows_4096", "argmax", axis=1, keepdims=0)
single("Transpose", "transpose_4096", "transpose", perm=[1, 0])
single("Gather", "gather_4096x768", axis=0)

NCHW, OIHW = (0, 3, 1, 2), (3, 2, 0, 1)


def convolution(*names, **attributes):
    single("Conv", *names, weights=[1], arrange={0: NCHW, 1: OIHW}, **attributes)


convolution("convolution_56x56x64", "convolution_28x28x128", "convolution_14x14x256", "convolution_7x7x512", pads=[1, 1, 1, 1])
convolution("convolution_224x224x3_7x7", pads=[2, 2, 3, 3], strides=[2, 2])
convolution("depthwise_56x56x128", pads=[1, 1, 1, 1], group=128)
single("Conv", "convolution_nchw_28x28x128", weights=[1], pads=[1, 1, 1, 1])
single("MaxPool", "max_pool_112x112x64", arrange={0: NCHW}, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])


def sums(name, axes):
    @form(name)
    def nodes(inputs, constants):
        constants["axes"] = numbers(axes)
        return [node("ReduceSum", [inputs[0], "axes"], keepdims=0)]


def numbers(values):
    import numpy

    return numpy.array(values, numpy.int64)


sums("sum_rows_4096", [1])
sums("sum_columns_4096", [0])
sums("sum_16m", [0])


@form("cumsum_1m")
def cumsum(inputs, constants):
    constants["axis"] = numbers(0)
    return [node("CumSum", [inputs[0], "axis"])]


@form("cumsum_rows_1024")
def cumsum_rows(inputs, constants):
    constants["axis"] = numbers(1)
    return [node("CumSum", [inputs[0], "axis"])]


@form("top_64_of_50257")
def top(inputs, constants):
    constants["k"] = numbers([64])
    return [node("TopK", [inputs[0], "k"], ["r", "i"])]


@form("mlp_128x512x2048", weights=range(1, 7))
def mlp(inputs, constants):
    x, a, p, b, q, c, r = inputs
    return [node("MatMul", [x, a], "t0"), node("Add", ["t0", p], "t1"), node("Relu", ["t1"], "t2"), node("MatMul", ["t2", b], "t3"),
            node("Add", ["t3", q], "t4"), node("Relu", ["t4"], "t5"), node("MatMul", ["t5", c], "t6"), node("Add", ["t6", r])]


@form("resnet50_224", "resnet50_nchw_224", weights=range(1, 109))
def resnet(inputs, constants):
    import numpy

    nodes, it, count = [], iter(inputs[1:]), 0

    def emit(kind, operands, **attributes):
        nonlocal count
        count += 1
        nodes.append(node(kind, operands, f"t{count}", **attributes))
        return f"t{count}"

    def layer(x, size, stride):
        kernel, bias = next(it), next(it)
        constants[kernel] = numpy.ascontiguousarray(constants[kernel].transpose(OIHW))
        before = {(7, 2): 2, (3, 1): 1, (3, 2): 0}.get((size, stride), 0)
        after = {(7, 2): 3, (3, 1): 1, (3, 2): 1}.get((size, stride), 0)
        return emit("Conv", [x, kernel, bias], strides=[stride] * 2, pads=[before] * 2 + [after] * 2)

    x = inputs[0]
    if constants["layout"] == "NHWC":
        x = emit("Transpose", [x], perm=NCHW)
    x = emit("MaxPool", [emit("Relu", [layer(x, 7, 2)])], kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 0 else 1
            y = emit("Relu", [layer(x, 1, 1)])
            y = emit("Relu", [layer(y, 3, stride)])
            y = layer(y, 1, 1)
            x = emit("Relu", [emit("Add", [y, layer(x, 1, stride) if block == 0 else x])])
    x = emit("Flatten", [emit("GlobalAveragePool", [x])])
    x = emit("MatMul", [x, next(it)])
    nodes.append(node("Add", [x, next(it)]))
    return nodes


def build(name, arrays):
    """(model, inputs that are not weights)."""
    from onnx import TensorProto, helper, numpy_helper
    import numpy

    function, weights, arrange = FORMS[name]
    arrays = [numpy.ascontiguousarray(a.transpose(arrange[i])) if i in arrange else a for i, a in enumerate(arrays)]
    names = [f"p{i}" for i in range(len(arrays))]
    constants = {names[i]: arrays[i] for i in weights if i < len(arrays)}
    constants["layout"] = "NHWC" if arrays[0].shape[-1] == 3 else "NCHW"
    nodes = function(names, constants)
    del constants["layout"]
    inputs = [i for i in range(len(arrays)) if names[i] not in constants]
    outputs = [o for last in nodes[-1:] for o in last.output]
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info(names[i], helper.np_dtype_to_tensor_dtype(arrays[i].dtype), arrays[i].shape) for i in inputs],
        [helper.make_empty_tensor_value_info(o) for o in outputs],
        [numpy_helper.from_array(numpy.asarray(value), key) for key, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    return model, {names[i]: arrays[i] for i in inputs}


def load(request):
    import numpy
    import onnxruntime

    if request["name"] not in FORMS:
        return {"error": "no ONNX form"}, lambda: None, lambda: None
    stored = numpy.load(request["inputs"])
    model, inputs = build(request["name"], [stored[f"p{i}"] for i in range(len(stored.files))])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = request["threads"]
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for key, value in inputs.items():
        binding.bind_ortvalue_input(key, onnxruntime.OrtValue.ortvalue_from_numpy(value))
    first = session.run(None, inputs)
    for output, value in zip(session.get_outputs(), first):
        binding.bind_ortvalue_output(output.name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
    return {}, lambda: None, lambda: session.run_with_iobinding(binding)


if __name__ == "__main__":
    peer.serve(load)
