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

import copy
import os

os.environ.setdefault("PJRT_DEVICE", "CPU")  # before torch_xla looks for devices

import torch
import torch.utils._pytree as pytree
import torch_xla

import exported_module


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


def leaf_of(name, tensor):
    tensor = tensor.detach().cpu()
    dtype = str(tensor.dtype).removeprefix("torch.")
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
    results = [(name, leaf) for name, leaf in named_leaves(function(*arguments), "result") if isinstance(leaf, torch.Tensor)]
    everything = lower([tensor for _, tensor in results + state])
    results += [pair for pair in state if everything.tensor_parameter_id(pair[1]) < 0]
    tensors = [tensor for _, tensor in results]
    parameters = parameter_leaves(tensors, names)
    text = torch_xla._XLAC._get_xla_tensors_hlo(tensors)
    versions = [library.__version__.partition("+")[0] for library in (torch, torch_xla)]
    return exported_module.write(folder, text, "torch {}, torch_xla {}".format(*versions), parameters,
                                 [leaf_of(*pair) for pair in results], values)
