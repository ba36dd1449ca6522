"""A network that decides more clearly: what it writes lies nearer to 0 and 1.

The kernel of the values written is multiplied. Values of a class then lie closer together, and what
decided by a hair decides by more. That changes what a network reads, so that it has to be right on
what the old one learned from, and is evaluated and certified as any other.
"""

from keras_stackrnn.extract.changes import ChangeError, right_on_training
from keras_stackrnn.extract.extraction import Extraction, extract
from keras_stackrnn.models import NextSymbolModel

FACTORS = (4, 8, 16, 2)


def sharpened(
    model: NextSymbolModel, found: Extraction, name: str
) -> tuple[NextSymbolModel, Extraction]:
    """The network of the first factor whose table can be certified.

    Args:
        model: The model.
        found: What was read out of it, for a task.
        name: What to call the new one.

    Returns:
        The new model and what is read out of it. `ChangeError` says that there is none.

    Example:

    ```python
    model = keras_stackrnn.gallery.load("memorize")
    model, found = sharpened(model, extract(model), "memorize, sharpened")
    ```
    """
    for factor in FACTORS:
        sharper = with_values_times(model, factor)
        if not right_on_training(sharper, found.lessons.pattern):
            continue
        try:
            again = extract(sharper, found.lessons, name)
        except ValueError:  # too many classes
            continue
        if again.certificate.holds:
            return sharper, again
    raise ChangeError(
        f"{found.name} cannot be sharpened: with {', '.join(map(str, FACTORS))} times the kernel "
        "of what it writes it is wrong on what it learned from, or no more certain."
    )


def with_values_times(model: NextSymbolModel, factor: float) -> NextSymbolModel:
    """The same model, rounded, with that many times the kernel of the values written."""
    sharper = model.twin(rounding=True, capacity=None)
    for layer in sharper.recurrent:
        for weight in (layer.cell.value_kernel, layer.cell.value_bias):
            if weight is not None:
                weight.assign(weight * factor)
    return sharper
