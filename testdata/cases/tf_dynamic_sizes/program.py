"""Results whose sizes depend on values, a slice whose start is an argument, a turn that a number chooses, a filter that is a large constant."""

import numpy as np
import tensorflow as tf

from export_tensorflow import export


def found(x, start, turns, labels):
    chosen = tf.boolean_mask(x, x[:, 0] > 0)
    names, numbers = tf.unique(labels)
    # A filter with more elements than TensorFlow prints.
    blurred = tf.nn.conv2d(x[None, :, :, None], tf.constant(np.hanning(9)[:, None, None, None] * np.hanning(7)[None, :, None, None], tf.float32), 1, "SAME")
    return (tf.where(x > 0.5), chosen, tf.reduce_sum(chosen, 0), names, tf.math.unsorted_segment_sum(x[:, 1], numbers, 12),
            tf.slice(x, tf.stack([start, 1]), [3, 4]), tf.image.rot90(x[:, :, None], turns), blurred[0, ..., 0])


random = np.random.default_rng(3)
export("testdata/cases/tf_dynamic_sizes", found, random.normal(size=(12, 8)).astype(np.float32), np.int32(5), np.int32(3),
       random.integers(0, 6, 12, np.int32), values=True, metadata=False)
