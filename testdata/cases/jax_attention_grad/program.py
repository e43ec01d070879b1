"""Gradient of causal attention layers: scanned, recomputed in the backward pass, the weights of a softmax made by a while loop."""

import jax
import jax.numpy as jnp

from export_jax import export

LAYERS, TOKENS, HEADS, WIDTH = 3, 12, 2, 8


def attention(x, w):
    q, k, v = (jnp.einsum("td,dhe->hte", x, w[name]) for name in ("q", "k", "v"))
    scores = jnp.where(jnp.tri(TOKENS, dtype=bool), jnp.einsum("hte,hse->hts", q, k) / WIDTH**0.5, -jnp.inf)
    return x + jnp.einsum("hts,hse,hed->td", jax.nn.softmax(scores), v, w["o"]), scores.max()


def root(square):
    """By Newton's method, until it changes no more; its derivative is told."""

    def more(state):
        last, now = state
        return jnp.abs(now - last) > 1e-6 * now

    return jax.lax.while_loop(more, lambda state: (state[1], 0.5 * (state[1] + square / state[1])), (square, square + 1.0))[1]


root = jax.custom_jvp(root)
root.defjvp(lambda primals, tangents: (root(*primals), tangents[0] / (2 * root(*primals))))


def loss(weights, x):
    y, largest = jax.lax.scan(jax.checkpoint(attention), x, weights)
    return root(jnp.sum(y * y) + 1.0), largest


shapes = {"q": (HEADS * WIDTH, HEADS, WIDTH), "k": (HEADS * WIDTH, HEADS, WIDTH), "v": (HEADS * WIDTH, HEADS, WIDTH),
          "o": (HEADS, WIDTH, HEADS * WIDTH)}
keys = jax.random.split(jax.random.key(0), len(shapes) + 1)
weights = {name: jax.random.normal(key, (LAYERS, *shape)) * 0.3 for key, (name, shape) in zip(keys, shapes.items())}
x = jax.random.normal(keys[-1], (TOKENS, HEADS * WIDTH))

export("testdata/cases/jax_attention_grad", jax.value_and_grad(loss, has_aux=True), weights, x, values=True, metadata=False)
