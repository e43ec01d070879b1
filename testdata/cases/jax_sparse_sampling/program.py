"""Sampling from the best of quantised logits, and counting what was drawn: int4 weights, top-k, random numbers, a sort by two keys, scatters."""

import jax
import jax.numpy as jnp

from export_jax import export

ROWS, WORDS, DEPTH, BEST = 6, 40, 16, 5


def sample(key, x, codes, scales, counts):
    logits = jnp.dot(x, codes.astype(jnp.bfloat16), preferred_element_type=jnp.float32) * scales
    best, words = jax.lax.top_k(logits, BEST)
    drawn = jax.random.categorical(key, best, axis=-1)
    word = jnp.take_along_axis(words, drawn[:, None], axis=1)[:, 0]
    counts = counts.at[word].add(1).at[word[::-1]].max(3, mode="drop").at[-1].set(jnp.bitwise_count(counts[0]))
    total = jax.ops.segment_sum(best[:, 0], word % 4, num_segments=4)
    ordered = jax.lax.sort((word // 8, -best[:, 0], jnp.arange(ROWS)), num_keys=2)
    window = jax.vmap(lambda row, start: jax.lax.dynamic_slice(row, (start,), (6,)))(logits, word)
    shuffled = jax.random.permutation(jax.random.fold_in(key, 1), jnp.arange(ROWS))
    return counts, total, ordered, window, shuffled, jnp.clip(codes[:2], -3, 3)


keys = jax.random.split(jax.random.key(7), 3)
x = jax.random.normal(keys[0], (ROWS, DEPTH), jnp.bfloat16)
codes = jax.random.randint(keys[1], (DEPTH, WORDS), -8, 8).astype(jnp.int4)
scales = jax.random.uniform(keys[2], (WORDS,), minval=0.01, maxval=0.1)

export("testdata/cases/jax_sparse_sampling", sample, jax.random.key(11), x, codes, scales, jnp.arange(WORDS, dtype=jnp.uint16),
       values=True, metadata=False, donate_argnums=4)
