"""A quantised layer as TensorFlow writes it: int8 products, saturating casts, argmax of int8, fake quantisation, half-open slices, segments."""

import numpy as np
import tensorflow as tf

from export_tensorflow import export


def quantised(x, weights, bias, scale):
    sums = tf.matmul(tf.cast(x, tf.int32), tf.cast(weights, tf.int32)) + bias
    y = tf.saturate_cast(tf.round(tf.cast(sums, tf.float32) * scale), tf.int8)
    best = tf.argmax(y, axis=1, output_type=tf.int32)
    worst = tf.argmin(tf.cast(y, tf.uint8), axis=0)
    fake = tf.quantization.fake_quant_with_min_max_args(tf.cast(sums, tf.float32) * scale, -6.0, 6.0, num_bits=4)
    segments = tf.math.unsorted_segment_max(tf.cast(y, tf.int32), best % 3, 4)
    mirrored = tf.pad(y[::-2, 1:-1:3], [[1, 1], [2, 0]], mode="REFLECT")
    packed = tf.bitcast(tf.reshape(y[:, :4], [-1, 4]), tf.int32)
    return y, best, worst, fake, segments, mirrored, packed, tf.math.floormod(sums, 7), tf.cumsum(sums, axis=1, exclusive=True, reverse=True)


random = np.random.default_rng(9)
export("testdata/cases/tf_int8_argmax", quantised, random.integers(-128, 128, (8, 24), np.int8), random.integers(-128, 128, (24, 12), np.int8),
       random.integers(-500, 500, 12, np.int32), np.float32(0.004), values=True, metadata=False)
