"""The entropy of a window's symbols under a softmax over a large vocabulary, and its gradient.

The logits of a window are by far the largest tensor of a language model: 700 symbols times 10,000
words are 28 MB, and their gradient as much again. Here a block of rows is taken all the way to the
gradients before the next one comes: its logits stay in the cache and nothing is kept of them.
"""

import tensorflow as tf

# Logits of one block: a few megabytes of float32.
_LOGITS_A_BLOCK = 2_000_000


def blockwise_cross_entropy(outputs, kernel, bias, targets, logits_a_block: int = _LOGITS_A_BLOCK):
    """The mean of -log softmax(outputs @ kernel + bias)[targets], in nats.

    Args:
        outputs: `[rows, units]`.
        kernel: `[units, vocabulary]`.
        bias: `[vocabulary]`.
        targets: `[rows]`, integers.
        logits_a_block: About how many logits are worked on at a time.
    """
    rows, units = outputs.shape
    vocabulary = kernel.shape[1]
    blocks = -(-rows * vocabulary // logits_a_block)
    rows_a_block = -(-rows // blocks)
    missing = blocks * rows_a_block - rows

    @tf.custom_gradient
    def run(outputs, kernel, bias):
        in_blocks = tf.reshape(
            tf.pad(outputs, [[0, missing], [0, 0]]), [blocks, rows_a_block, units]
        )
        aims = tf.reshape(tf.pad(targets, [[0, missing]]), [blocks, rows_a_block])
        shares = tf.fill([rows], tf.constant(1 / rows, outputs.dtype))
        shares = tf.reshape(tf.pad(shares, [[0, missing]]), [blocks, rows_a_block, 1])
        transposed = tf.transpose(kernel)

        def step(i, entropy, d_outputs, d_kernel, d_bias):
            logits = in_blocks[i] @ kernel + bias
            largest = tf.reduce_max(logits, axis=-1, keepdims=True)
            powers = tf.exp(logits - largest)
            total = tf.reduce_sum(powers, axis=-1, keepdims=True)
            aimed_at = tf.gather(logits, aims[i][:, None], batch_dims=1)
            entropy += tf.reduce_sum(shares[i] * (largest + tf.math.log(total) - aimed_at))
            aim = tf.one_hot(aims[i], vocabulary, dtype=logits.dtype)
            d_logits = shares[i] * (powers / total - aim)
            return (
                i + 1,
                entropy,
                d_outputs.write(i, d_logits @ transposed),
                d_kernel + tf.matmul(in_blocks[i], d_logits, transpose_a=True),
                d_bias + tf.reduce_sum(d_logits, axis=0),
            )

        d_outputs = tf.TensorArray(outputs.dtype, size=blocks, element_shape=[rows_a_block, units])
        zero = tf.zeros([], outputs.dtype)
        _, entropy, d_outputs, d_kernel, d_bias = tf.while_loop(
            lambda i, *_: i < blocks,
            step,
            (0, zero, d_outputs, tf.zeros_like(kernel), tf.zeros_like(bias)),
            maximum_iterations=blocks,
        )
        d_outputs = tf.reshape(d_outputs.stack(), [blocks * rows_a_block, units])[:rows]

        def gradient(d):
            return d * d_outputs, d * d_kernel, d * d_bias

        return entropy, gradient

    return run(outputs, tf.convert_to_tensor(kernel), tf.convert_to_tensor(bias))
