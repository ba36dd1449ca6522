"""Warm-up records: a request for each signature, which a server answers before anybody else's."""

from collections.abc import Mapping
from pathlib import Path

import tensorflow as tf

from keras_stackrnn.export.signatures import Signature

RECORDS = Path("assets.extra") / "tf_serving_warmup_requests"


def write_warmup_records(folder: Path, signatures: Mapping[str, Signature]) -> None:
    """Writes a request for each signature where TensorFlow Serving looks for them."""
    path = folder / RECORDS
    path.parent.mkdir(exist_ok=True)
    model = folder.resolve().parent.name
    with tf.io.TFRecordWriter(str(path)) as writer:
        for name, signature in signatures.items():
            writer.write(signature.log(model, name).SerializeToString())
