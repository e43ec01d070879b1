"""A process that runs HLO text on XLA:CPU, for scripts/bench: peer.serve says how it is spoken to."""

import pathlib

import peer


def load(request):
    import jax
    import numpy
    from jaxlib import _hlo, _jax

    jax.config.update("jax_enable_x64", True)
    device = jax.local_devices(backend="cpu")[0]
    text = pathlib.Path(request["module"]).read_text()
    module = _hlo.hlo_module_from_text(text)
    portable = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
    executable = device.client.compile_and_load(portable, _jax.DeviceList((device,)), _jax.CompileOptions())
    computation = _hlo.XlaComputation(module.as_serialized_hlo_module_proto())
    shapes = [leaf for shape in computation.program_shape().parameter_shapes() for leaf in leaves(shape)]
    stored = numpy.load(request["inputs"])
    arrays = [jax.device_put(stored[f"p{i}"].astype(shape.numpy_dtype()), device) for i, shape in enumerate(shapes)]
    donates = "input_output_alias=" in text.split("\n", 1)[0]
    state = {"arrays": arrays}

    def prepare():
        if donates:
            state["arrays"] = [jax.device_put(stored[f"p{i}"].astype(shape.numpy_dtype()), device)
                               for i, shape in enumerate(shapes)]

    def run():
        for part in executable.execute_sharded(state["arrays"]).disassemble_into_single_device_arrays():
            part[0].block_until_ready()

    costs = executable.cost_analysis()
    costs = costs[0] if isinstance(costs, list) else costs
    return {"flops": max(0.0, costs.get("flops", 0.0)), "temporary_bytes": executable.get_compiled_memory_stats().temp_size_in_bytes}, prepare, run


def leaves(shape):
    return [leaf for part in shape.tuple_shapes() for leaf in leaves(part)] if shape.is_tuple() else [shape]


if __name__ == "__main__":
    peer.serve(load)
