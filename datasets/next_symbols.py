"""Examples of tasks that ask for the next symbol: the text, and what can be said of each symbol."""

from collections.abc import Iterator

import numpy as np
import tensorflow_datasets.public_api as tfds

from keras_stackrnn import tasks
from keras_stackrnn.datasets.sized_tasks import tokens


def features(task: tasks.Pattern) -> dict:
    """Text and tokens, and which symbols can be predicted or, where several may come, which."""
    either = (
        {"deterministic": tfds.features.Tensor(shape=(None,), dtype=np.bool_)}
        if task.valid_symbols is None
        else {"valid": tfds.features.Tensor(shape=(None, len(task.outputs)), dtype=np.bool_)}
    )
    return {"text": tfds.features.Text(), "tokens": tokens(), **either}


def examples(task: tasks.Pattern, rows: tasks.Rows) -> Iterator[dict]:
    """Each row as an example; the first symbol of all is neither predicted nor one of several."""
    valid = task.valid_next(rows)
    for index, length in enumerate(rows.lengths):
        read = np.append(rows.tokens[index, :1], rows.targets[index, :length])
        example = {"text": task.decode(read), "tokens": read}
        if valid is None:
            example["deterministic"] = np.append(False, rows.scored[index, :length])
        else:
            nothing = np.zeros((1, valid.shape[2]), bool)
            example["valid"] = np.concatenate([nothing, valid[index, :length]])
        yield example
