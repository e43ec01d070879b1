"""As XLA:CPU optimised it: attention of a new token in bfloat16 over a cache that is updated in place, then a layer of int8 products."""

import jax
import jax.numpy as jnp

from export_jax import export

TOKENS, HEADS, WIDTH = 20, 3, 8


def decode(cache, place, x, w, codes, scales):
    q, k, v = jnp.einsum("d,cdhe->che", x, w)
    cache = jax.lax.dynamic_update_slice(cache, jnp.stack([k, v])[:, None], (0, place, 0, 0))
    scores = jnp.einsum("he,she->hs", q, cache[0], preferred_element_type=jnp.float32) / WIDTH**0.5
    scores = jnp.where(jnp.arange(TOKENS) <= place, scores, -1e30)
    y = jnp.einsum("hs,she->he", jax.nn.softmax(scores).astype(x.dtype), cache[1]).reshape(-1)
    largest = jnp.abs(y.astype(jnp.float32)).max()
    small = jnp.round(y.astype(jnp.float32) * (127 / largest)).astype(jnp.int8)
    product = jax.lax.dot(small, codes, preferred_element_type=jnp.int32)
    return cache, y, product, jax.nn.gelu(product * (largest / 127) * scales), small


keys = jax.random.split(jax.random.key(5), 5)
half = lambda key, shape, scale: (scale * jax.random.normal(key, shape)).astype(jnp.bfloat16)

export("testdata/cases/jax_opt_mixed_attention", decode, half(keys[0], (2, TOKENS, HEADS, WIDTH), 1.0), jnp.int32(13), half(keys[1], (HEADS * WIDTH,), 1.0),
       half(keys[2], (3, HEADS * WIDTH, HEADS, WIDTH), 0.3), jax.random.randint(keys[3], (HEADS * WIDTH, 10), -128, 128, jnp.int8),
       jax.random.uniform(keys[4], (10,)) / 50, values=True, metadata=False, optimised=True, donate_argnums=0)
