"""A recurrent layer, and a loop that ends by its data: rows of a table are written where a running sum says, read back and stacked."""

import tensorflow as tf

from export_tensorflow import export

tf.keras.utils.set_random_seed(5)
STEPS, WIDTH = 7, 5
layer = tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(WIDTH, return_sequences=True))
x = tf.random.normal((2, STEPS, 3))
layer(x)


def loop(x, table, hops):
    rows = tf.transpose(layer(x), [1, 0, 2])
    written = tf.TensorArray(tf.float32, size=STEPS, element_shape=(2 * WIDTH,), clear_after_read=False)

    def body(i, place, table, written):
        row = tf.tensor_scatter_nd_add(table[place], [[i], [0]], [1.0, rows[i, 1, 2]])
        table = tf.tensor_scatter_nd_update(table, [[place]], [row])
        written = written.write(STEPS - 1 - i, row * tf.cast(place, tf.float32))
        return i + 1, (place + hops[i]) % STEPS, table, written

    condition = lambda i, place, table, written: tf.logical_and(i < STEPS, tf.reduce_sum(table) < 100.0)
    i, place, table, written = tf.while_loop(condition, body, (0, 2, table, written), maximum_iterations=STEPS)
    return i, place, table, written.stack(), tf.switch_case(place % 3, [lambda: rows, lambda: -rows, lambda: rows * rows])


export("testdata/cases/tf_loop_updates", loop, x, tf.random.normal((STEPS, 2 * WIDTH)), tf.constant([3, 1, 4, 1, 5, 2, 6]),
       values=True, metadata=False)
