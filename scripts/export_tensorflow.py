"""HLO for xlac from a TensorFlow function.  In the program that has the function and example arguments, with this folder in PYTHONPATH:

  from export_tensorflow import export
  export("model", function, *arguments)

writes model/model.hlo and model/meta.json; with values=True also model/inputs.npz and model/expected.npz (exported_module.py
says what they hold).  |function| is anything that tf.function takes, such as a Keras model; arguments are tensors or arrays, nested in lists, tuples and
dicts.

Parameters are the arguments in the order of tf.nest.flatten, then the variables and tensors that the function captures; results are what it
returns, then the variables that it assigns.  Call a Keras layer once before, as the making of its variables cannot be compiled.

Needs tensorflow or tensorflow-cpu; tried with 2.21.0.
"""

import re

import numpy
import tensorflow as tf
from tensorflow.compiler.xla import xla_data_pb2
from tensorflow.compiler.xla.service import hlo_pb2

import exported_module
from large_constants import literal_array, with_constants


def captured_leaves(concrete):
    """(name, tensor or variable) of each capture."""
    variables = {id(variable.handle): variable for variable in concrete.variables}
    named = [variables.get(id(tensor), tensor) for tensor in concrete.captured_inputs]
    return [(leaf.name if isinstance(leaf, tf.Variable) else "captured", leaf) for leaf in named]


def assigned_parameters(text, returned):
    """The numbers of the parameters that become the results behind the |returned| first ones."""
    header = text.partition("\n")[0]
    aliases = {int(result): int(parameter) for result, parameter in re.findall(r"\{(\d+)\}: \((\d+), \{\}", header)}
    return [aliases[i] for i in sorted(aliases) if i >= returned]


def literals(serialized):
    """The literals of all constants of a module that is serialized as a protocol buffer, by name."""
    module = hlo_pb2.HloModuleProto.FromString(serialized)
    return {instruction.name: instruction.literal for computation in module.computations
            for instruction in computation.instructions if instruction.opcode == "constant"}


def array_of_literal(literal):
    name, shape = xla_data_pb2.PrimitiveType.Name(literal.shape.element_type).lower(), literal.shape
    return literal_array(name, shape.dimensions, shape.layout.minor_to_major, getattr(literal, name + "s"))


def array_of(leaf):
    return leaf.numpy() if hasattr(leaf, "numpy") else numpy.asarray(leaf)


def export(folder, function, *arguments, values=False, metadata=True):
    """Writes |function| applied to |arguments| into |folder| and returns its path.

    values: also the arguments and what TensorFlow's XLA computes from them on the CPU.
    metadata: with the lines of the Python program in it, which xlac's messages then name.
    """
    arguments = tf.nest.map_structure(tf.convert_to_tensor, arguments)
    compiled = tf.function(function, jit_compile=True)
    concrete = compiled.get_concrete_function(*arguments)
    named = [(f"argument {i}", leaf) for i, leaf in enumerate(tf.nest.flatten(arguments))] + captured_leaves(concrete)
    parameters = [exported_module.Leaf(name, array_of(leaf)) for name, leaf in named]
    # Of types and shapes alone: given values, TensorFlow makes constants of arguments that say where a slice begins, say.
    compiler_ir = compiled.experimental_get_compiler_ir(*tf.nest.map_structure(tf.TensorSpec.from_tensor, arguments))
    text = with_constants(compiler_ir(stage="hlo" if metadata else "hlo_no_metadata"),
                          lambda: literals(compiler_ir(stage="hlo_serialized")), array_of_literal)
    results = [(f"result {i}", leaf) for i, leaf in enumerate(tf.nest.flatten(compiled(*arguments))) if leaf is not None]
    results += [named[number] for number in assigned_parameters(text, len(results))]
    results = [exported_module.Leaf(name, array_of(leaf)) for name, leaf in results]
    for (_, leaf), parameter in zip(named, parameters):
        if isinstance(leaf, tf.Variable):
            leaf.assign(parameter.array)  # what it was before the function ran
    return exported_module.write(folder, text, f"tensorflow {tf.__version__}", parameters, results, values)
