"""HLO for xlac from PyTorch/XLA.  In the program that has a module or function and example arguments, with this folder in PYTHONPATH:

  from export_pytorch import export
  export("model", function, *arguments)

writes model/model.hlo and model/meta.json; with values=True also model/inputs.npz and model/expected.npz (exported_module.py
says what they hold).  |function| is an nn.Module, or a function whose arguments are tensors and nn.Modules, nested in lists, tuples and dicts.
They are copied to the XLA device; what is passed stays as it is.

PyTorch/XLA numbers the parameters itself, in the order in which the program meets them, and makes parameters of some numbers too: meta.json
names each.  Results are the tensors that the function returns, then what it changed in place: weights after an optimiser's step,
the running mean of a batch norm.

Needs torch and torch_xla of the same version; tried with 2.9.1 and 2.9.0.
"""

import base64
import copy
import json
import os
import warnings

os.environ.setdefault("PJRT_DEVICE", "CPU")  # before torch_xla looks for devices

import torch
import torch.utils._pytree as pytree
import torch_xla
from torch_xla.debug import metrics

import exported_module
from large_constants import literal_array, with_constants


def to_device(value, device):
    """|value|, or a copy of it on |device| where it is a tensor or module; gradients go where the original wants them."""
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value).to(device)
    if isinstance(value, torch.Tensor):
        return value.detach().to(device).requires_grad_(value.requires_grad)
    return value


def named_state(value, name):
    """(name, tensor) of everything in |value| that a function can change."""
    if isinstance(value, torch.nn.Module):
        return [(f"{name}.{path}", tensor) for path, tensor in value.state_dict(keep_vars=True).items()]
    return [(name, value)] if isinstance(value, torch.Tensor) else []


def named_leaves(tree, name):
    return [(name + pytree.keystr(path), leaf) for path, leaf in pytree.tree_flatten_with_path(tree)[0]]


def lower(tensors):
    """A context that knows which parameter each tensor is, for the module that computes |tensors|."""
    context = torch_xla._XLAC.lowering.LoweringContext("export")
    context.build(tensors)
    return context


def literals(context):
    """The literals of all constants of the module that |context| has lowered, by name."""
    module = json.loads(context.hlo_json())
    return {instruction["name"]: instruction["literal"] for computation in module["computations"]
            for instruction in computation["instructions"] if instruction["opcode"] == "constant"}


def array_of_literal(literal):
    """JSON has the protocol buffer's 64-bit numbers as text and its bytes in base 64."""
    shape, name = literal["shape"], literal["shape"]["elementType"].lower()
    dims, minor_to_major = [[int(number) for number in numbers] for numbers in (shape["dimensions"], shape["layout"]["minorToMajor"])]
    field = literal[name + "s"]
    return literal_array(name, dims, minor_to_major, base64.b64decode(field) if isinstance(field, str) else field)


def reads_of_device():
    """How often values of the device have been read, and how often what PyTorch/XLA has no operations for, by name."""
    reads = metrics.metric_data("TransferFromDeviceTime")
    return reads[0] if reads else 0, {name: metrics.counter_value(name) for name in metrics.counter_names() if name.startswith("aten::")}


def warn_of_reads(before):
    """Says so where values were read after |before|: what they come from was computed then and there, and is no part of the module."""
    reads, on_cpu = reads_of_device()
    if reads > before[0]:
        names = [name for name in sorted(on_cpu) if on_cpu[name] > before[1].get(name, 0)]
        why = f" by {', '.join(names)}" if names else ""
        warnings.warn(f"values were read while the program was recorded{why}: what they were computed by is no part of the module, "
                      "which has them as parameters called 'captured' or has taken the branch that they led to", stacklevel=3)


def leaf_of(name, tensor, declared=None):
    """|declared|: the module's element type, where PyTorch may say another: its indices are s64 and XLA's u32, its |abs| stays complex."""
    tensor = tensor.detach().cpu()
    dtype = str(tensor.dtype).removeprefix("torch.")
    if declared not in (None, exported_module.HLO_TYPES[dtype]):
        dtype = exported_module.numpy_type(declared)
        tensor = (tensor.real if tensor.is_complex() and not dtype.startswith("complex") else tensor).to(getattr(torch, dtype))
    if dtype not in exported_module.NUMPY_TYPES:
        tensor = tensor.float()
    return exported_module.Leaf(name, tensor.numpy(), dtype)


def parameter_leaves(tensors, names):
    """Of the module that computes |tensors|, in its order: by |names|, which the ids of tensors have, others by what they hold."""
    context = lower(tensors)
    values = context.parameter_id_tensor_mapping()  # first: once numbers were asked for, it may have holes
    number_names = {context.tensor_parameter_id(data): names.get(tensor_id)
                    for tensor_id, data in zip(*torch_xla._XLAC._get_tensors_xla_device_data_node(tensors))}
    other = {i: str(value.item()) if value.numel() == 1 else "captured" for i, value in values.items()}
    return [leaf_of(number_names.get(i) or other[i], values[i]) for i in sorted(values)]


def export(folder, function, *arguments, values=False):
    """Writes |function| applied to |arguments| into |folder| and returns its path.

    values: also the arguments and what PyTorch/XLA computes from them on the CPU.
    """
    device = torch_xla.device()
    function = to_device(function, device)
    arguments = pytree.tree_map(lambda value: to_device(value, device), arguments)
    state = [pair for i, argument in enumerate(arguments) for name, leaf in named_leaves(argument, f"args[{i}]")
             for pair in named_state(leaf, name)] + named_state(function, "module")
    torch_xla.sync(wait=True)  # what was pending is no part of the module, and what is not there yet cannot be read
    names = {torch_xla._XLAC._xla_get_tensor_id(tensor): name for name, tensor in state}
    before = reads_of_device()
    results = [(name, leaf) for name, leaf in named_leaves(function(*arguments), "result") if isinstance(leaf, torch.Tensor)]
    warn_of_reads(before)
    everything = lower([tensor for _, tensor in results + state])
    results += [pair for pair in state if everything.tensor_parameter_id(pair[1]) < 0]
    tensors = [tensor for _, tensor in results]
    parameters = parameter_leaves(tensors, names)
    text = with_constants(torch_xla._XLAC._get_xla_tensors_hlo(tensors), lambda: literals(lower(tensors)), array_of_literal)
    torch_xla._XLAC._xla_sync_multi(tensors, devices=[], wait=True)  # all by this module, as each by one of its own may take another's memory
    declared = [type_name for type_name, _ in exported_module.entry_leaves(text)[1]]
    versions = [library.__version__.partition("+")[0] for library in (torch, torch_xla)]
    return exported_module.write(folder, text, "torch {}, torch_xla {}".format(*versions), parameters,
                                 [leaf_of(*pair, type_name) for pair, type_name in zip(results, declared, strict=True)], values)
