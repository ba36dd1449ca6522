"""Figures in TensorBoard's event files, with or without TensorBoard installed."""

import tensorflow as tf
from matplotlib.figure import Figure

from keras_stackrnn.trace.figures import to_png


def write_figure(name: str, figure: Figure) -> None:
    """Writes a figure to the default summary writer, as `tf.summary.image` does an image.

    That is only there where TensorBoard is installed. An image is three strings: its width, its
    height and its PNG.

    Args:
        name: The summary's name.
        figure: The figure.

    Example:

    ```python
    with tf.summary.create_file_writer("runs/anbn/events").as_default(step=50):
        write_figure("trace", keras_stackrnn.trace(model, "aaabbb").plot())
    ```
    """
    png = to_png(figure)
    height, width, _ = tf.io.decode_png(png).shape
    summary = tf.compat.v1.SummaryMetadata
    metadata = summary(plugin_data=summary.PluginData(plugin_name="images"))
    tf.summary.write(name, tf.constant([str(width), str(height), png]), metadata=metadata)
