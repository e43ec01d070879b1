"""A training step of a Keras network: strided and depthwise convolutions, batch normalisation in training, momentum, variables assigned in place."""

import tensorflow as tf

from export_tensorflow import export

tf.keras.utils.set_random_seed(3)
layers = tf.keras.layers
model = tf.keras.Sequential([
    layers.Conv2D(6, 3, strides=2, padding="same", activation="relu"),
    layers.BatchNormalization(),
    layers.DepthwiseConv2D(3, padding="same"),
    layers.AveragePooling2D(2),
    layers.Flatten(),
    layers.Dense(4),
])
images, labels = tf.random.normal((4, 9, 9, 3)), tf.constant([0, 3, 1, 3])
model(images)
velocities = [tf.Variable(0.1 * tf.random.normal(weight.shape)) for weight in model.trainable_variables]


def step(images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    for weight, velocity, gradient in zip(model.trainable_variables, velocities, tape.gradient(loss, model.trainable_variables)):
        velocity.assign(0.9 * velocity - 0.05 * gradient)
        weight.assign_add(velocity)
    return loss


export("testdata/cases/tf_keras_train_step", step, images, labels, values=True, metadata=False)
