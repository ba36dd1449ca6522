"""Models for each form of task: what they give logits of, and how they read what a user writes."""

from collections.abc import Iterable
from typing import Any

import keras

from keras_stackrnn.models import NextSymbolModel, SequenceModel
from keras_stackrnn.tasks import AnswerPlaces, Pattern, Recognition, Transduction


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class Transducer(SequenceModel):
    """Reads an input and then, at as many places as its answer has, says the answer.

    The vocabulary are the symbols of inputs, then the marks that stand at the places of the answer
    and, where there are any, of computation: nobody writes them.

    Args:
        kind, vocabulary, units: As in a `SequenceModel`, and so are further arguments.
        outputs: Distinct strings, the symbols of answers.
        answer_places: Three integers, the `AnswerPlaces` of an input.
        computation: Computation places for each symbol of an input, between it and its answer.
        terminator: The symbol that ends an answer; `None`: they end with their places.

    Example:

    ```python
    model = Transducer("stack", ["0", "1", "<answer>"], 20, memories=2, outputs="01")
    logits = model(np.array([[0, 1, 1, 2, 2, 2]]))  # The logits have shape `(1, 6, 2)`.
    ```
    """

    def __init__(
        self,
        kind: str,
        vocabulary: Iterable[str],
        units: int,
        *,
        outputs: Iterable[str],
        answer_places: Iterable[int] = (1, 1, 0),
        computation: int = 0,
        terminator: str | None = None,
        **kwargs: Any,
    ):
        self._outputs = list(outputs)
        super().__init__(kind, vocabulary, units, **kwargs)
        self.answer_places = AnswerPlaces(*answer_places)
        self.computation = computation
        self.terminator = terminator

    @property
    def answers(self) -> list[str]:
        return self._outputs

    @property
    def marks(self) -> int:
        return 2 if self.computation else 1

    def answer_places_of(self, lengths: Any) -> tuple[Any, Any]:
        return lengths * (1 + self.computation), self.answer_places.of(lengths)

    def reading(self) -> dict[str, Any]:
        return {
            "form": Transduction.form,
            "answer_places": list(self.answer_places),
            "computation": self.computation,
            "terminator": self.terminator,
        }

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "outputs": self._outputs,
            "answer_places": list(self.answer_places),
            "computation": self.computation,
            "terminator": self.terminator,
        }


@keras.saving.register_keras_serializable(package="keras_stackrnn")
class Recognizer(SequenceModel):
    """Reads a string and, at the mark of its end, says its label.

    The vocabulary are the symbols of strings, and then the mark of the end, which nobody writes.

    Args:
        kind, vocabulary, units: As in a `SequenceModel`, and so are further arguments.
        labels: Distinct strings.

    Example:

    ```python
    model = Recognizer("stack", ["(", ")", "<end>"], 20, memories=2, labels=["no", "yes"])
    logits = model(np.array([[0, 1, 2]]))[:, -1]  # The logits have shape `(1, 2)`.
    ```
    """

    marks = 1

    def __init__(
        self,
        kind: str,
        vocabulary: Iterable[str],
        units: int,
        *,
        labels: Iterable[str],
        **kwargs: Any,
    ):
        self._labels = list(labels)
        super().__init__(kind, vocabulary, units, **kwargs)

    @property
    def answers(self) -> list[str]:
        return self._labels

    def answer_places_of(self, lengths: Any) -> tuple[Any, Any]:
        return lengths, 0 * lengths + 1

    def reading(self) -> dict[str, Any]:
        return {**super().reading(), "form": Recognition.form, "answer_places": [0, 1, 1]}

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "labels": self._labels}


_OF_FORM = {
    Pattern.form: NextSymbolModel,
    Transduction.form: Transducer,
    Recognition.form: Recognizer,
}


def of_form(form: str) -> type[SequenceModel]:
    """The class of the models that learn tasks of a form."""
    return _OF_FORM[form]
