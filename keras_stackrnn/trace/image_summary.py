"""Pictures in TensorBoard's event files, with or without TensorBoard installed."""

import tensorflow as tf


def write_png(name: str, png: bytes) -> None:
    """Writes a picture to the default summary writer, as `tf.summary.image` does an image.

    That is only there where TensorBoard is installed. An image is three strings: its width, its
    height and its PNG.

    Args:
        name: The summary's name.
        png: The picture, as `figures.to_png` gives it.

    Example:

    ```python
    with tf.summary.create_file_writer("runs/anbn/events").as_default(step=50):
        write_png("trace", figures.to_png(keras_stackrnn.trace(model, "aaabbb").plot()))
    ```
    """
    height, width, _ = tf.io.decode_png(png).shape
    summary = tf.compat.v1.SummaryMetadata
    metadata = summary(plugin_data=summary.PluginData(plugin_name="images"))
    tf.summary.write(name, tf.constant([str(width), str(height), png]), metadata=metadata)
