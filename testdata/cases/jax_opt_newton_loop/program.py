"""As XLA:CPU optimised it: the inverse of a matrix by Newton's iteration until it is good enough, then a scan that uses it."""

import jax
import jax.numpy as jnp

from export_jax import export

SIZE = 24


def inverse(a):
    """And the number of steps."""
    start = a.T / (jnp.abs(a).sum(0).max() * jnp.abs(a).sum(1).max())
    error = lambda x: jnp.abs(jnp.eye(SIZE) - a @ x).max()
    more = lambda state: (state[2] > 1e-4) & (state[0] < 60)

    def step(state):
        count, x, _ = state
        x = x @ (2 * jnp.eye(SIZE) - a @ x)
        return count + 1, x, error(x)

    return jax.lax.while_loop(more, step, (0, start, error(start)))


def filtered(a, signal):
    count, x, _ = inverse(a)

    def step(state, sample):
        state = jnp.tanh(x @ state + sample)
        return state, (state[:3], jnp.argmax(state))

    state, (heads, places) = jax.lax.scan(step, jnp.zeros(SIZE), signal)
    return count, x, state, heads, places


keys = jax.random.split(jax.random.key(3), 2)
a = jnp.eye(SIZE) * 2 + 0.1 * jax.random.normal(keys[0], (SIZE, SIZE))

export("testdata/cases/jax_opt_newton_loop", filtered, a, jax.random.normal(keys[1], (9, SIZE)), values=True, metadata=False, optimised=True)
