"""What the memories do on a text: as rows, as a table, as pictures, as a page to step through.

The module is callable, and `keras_stackrnn.trace(model, "aaabbb")` is `trace` below; the command
is `python -m keras_stackrnn.trace`, described in `__main__.py`.
"""

import inspect
import sys
import types
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras

    from keras_stackrnn.trace.record import Trace

__all__ = ["trace"]


def trace(
    model: "keras.Model",
    text: str,
    *,
    vocabulary: Sequence[str] | None = None,
    rounding: bool | None = None,
    depth: int | None = None,
    deterministic: str | Sequence[bool] | None = None,
    force: Mapping[str, str | Mapping[int, str]] | None = None,
) -> "Trace":
    """Has a model read a text with empty memories, and records what it did at every symbol.

    One pass; the model, its state and its metrics are left as they were.

    Args:
        model: A Keras model with a `StackCell`, `ListCell`, `StackRNN` or `ListRNN` in it, or
            several, that reads token ids or one-hot symbols. What it gives is taken for the
            probabilities, or logits, of the next symbol if there are as many as symbols; what a
            `Transducer` or `Recognizer` gives, for its answers or labels.
        text: The text, taken apart into characters or, if symbols are longer, at white space. What
            a model reads besides, as the places of its answer, is added.
        vocabulary: The symbols in the order of their token ids; `None`: the model's own, which
            `NextSymbolModel` has.
        rounding: Whether the most probable action alone is taken; `None`: as the model does.
        depth: How many elements of each memory to record; `None`: as many as the model reads.
        deterministic: Which symbols can be predicted: the name of a pattern, or a boolean for each
            symbol of the text. `None`: by the pattern the model was trained on, where it says so.
        force: Actions that a memory takes whatever the model wants, to see what changes:
            `{"stack2": "POP"}` at every symbol, `{"stack2": {6: "POP"}}` at `text[6]`.

    Returns:
        A `Trace`.

    Example:

    ```python
    record = keras_stackrnn.trace(model, "aaabbb")
    print(record.to_text())
    record.plot("actions.png")
    record.to_html("trace.html")
    ```
    """
    from keras_stackrnn.trace.keras_model import trace_model

    return trace_model(model, text, vocabulary, rounding, depth, deterministic, force)


class _CallableModule(types.ModuleType):
    """A module that is also its function: both are called `keras_stackrnn.trace`."""

    __call__ = staticmethod(trace)
    __signature__ = inspect.signature(trace)


sys.modules[__name__].__class__ = _CallableModule
