"""As XLA:CPU optimised it: a graph's messages gathered and scattered, a branch chosen by what they came to, sorted, convolved and pooled."""

import jax
import jax.numpy as jnp

from export_jax import export

NODES, EDGES, WIDTH = 14, 40, 6


def step(x, sources, targets, w, kernel):
    messages = jax.nn.relu(x[sources] @ w)
    sums = jnp.zeros((NODES, WIDTH)).at[targets].add(messages)
    most = jnp.full((NODES, WIDTH), -jnp.inf).at[targets].max(messages)
    degree = jnp.bincount(targets, length=NODES)
    branches = [lambda y: jnp.cumsum(y, 0), lambda y: jnp.sort(y, 0), lambda y: y[::-1]]
    chosen = jax.lax.switch(degree.max() % 3, branches, jnp.where(jnp.isfinite(most), most, sums))
    order = jnp.lexsort((chosen[:, 0], degree))
    waves = jax.lax.conv_general_dilated(chosen.T[None], kernel, (1,), "SAME", rhs_dilation=(2,), feature_group_count=2)
    pooled = jax.lax.reduce_window(waves, -jnp.inf, jax.lax.max, (1, 1, 3), (1, 1, 2), "VALID")
    return sums, degree, chosen, order, waves, pooled, jnp.linalg.norm(chosen, axis=1)


keys = jax.random.split(jax.random.key(8), 5)

export("testdata/cases/jax_opt_sparse_switch", step, jax.random.normal(keys[0], (NODES, WIDTH)), jax.random.randint(keys[1], (EDGES,), 0, NODES),
       jax.random.randint(keys[2], (EDGES,), 0, NODES), jax.random.normal(keys[3], (WIDTH, WIDTH)), jax.random.normal(keys[4], (4, 3, 3)),
       values=True, metadata=False, optimised=True)
