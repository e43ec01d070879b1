"""HLO for xlac from a JAX function.  In the program that has the function and example arguments, with this folder in PYTHONPATH:

  from export_jax import export
  export("model", function, *arguments)

writes model/model.hlo and model/meta.json; with values=True also model/inputs.npz and model/expected.npz (exported_module.py
says what they hold).  Arguments are pytrees of arrays; for a module alone jax.ShapeDtypeStruct is enough.  Each leaf is a parameter, in the order
of jax.tree_util.tree_leaves, used or not.

Needs jax; tried with 0.4.38, 0.6.2, 0.7.2 and 0.10.2.
"""

import jax

import exported_module
import jaxlib_hlo


def named_leaves(tree, root):
    """(name, value) of each leaf; names like params['w'], or |root|[0] where there is no other."""
    return [(root + jax.tree_util.keystr(path), leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)]


def dynamic_arguments(arguments, jit_options):
    """Without those that jit takes as part of the program."""
    static = jit_options.get("static_argnums", ())
    static = {static} if isinstance(static, int) else set(static)
    return {i: value for i, value in enumerate(arguments) if i not in static and i - len(arguments) not in static}


def array_of(leaf):
    """As the module takes it: numbers as jit types them, keys of random numbers as the words they are made of."""
    leaf = jax.numpy.zeros(leaf.shape, leaf.dtype) if isinstance(leaf, jax.ShapeDtypeStruct) else jax.numpy.asarray(leaf)
    return jax.random.key_data(leaf) if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


def leaves_of(tree, root):
    return [exported_module.Leaf(name, array_of(leaf)) for name, leaf in named_leaves(tree, root)]


def module_text(lowered, optimised, metadata):
    """HLO with all constants in full."""
    module = lowered.compile().runtime_executable().hlo_modules()[0] if optimised \
        else lowered.compiler_ir("hlo").get_hlo_module()
    options = jaxlib_hlo.hlo.HloPrintOptions()  # nothing public prints constants in full
    options.print_large_constants = True
    options.print_metadata = metadata
    return module.to_string(options)


def export(folder, function, *arguments, values=False, optimised=False, metadata=True, **jit_options):
    """Writes |function| applied to |arguments| into |folder| and returns its path.

    values: also the arguments and what XLA:CPU computes from them.
    optimised: the module as XLA:CPU optimised and scheduled it, instead of as JAX made it.
    metadata: with the lines of the Python program in it, which xlac's messages then name.
    jit_options: of jax.jit, such as donate_argnums and static_argnums; those of a function that is jitted already count no more.
    """
    jitted = jax.jit(function, keep_unused=True, **jit_options)
    dynamic = dynamic_arguments(arguments, jit_options)
    parameters = [leaf for i, argument in dynamic.items() for leaf in leaves_of(argument, f"args[{i}]")]
    traced = jitted.trace(*arguments)
    lowered = traced.lower(lowering_platforms=("cpu",))
    results = jitted(*arguments) if values else jax.eval_shape(jitted, *arguments)
    return exported_module.write(folder, module_text(lowered, optimised, metadata), f"jax {jax.__version__}", parameters,
                                 leaves_of(results, "result"), values)
