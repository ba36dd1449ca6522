"""The training of a language model: epochs over a text, and the best weights on validation."""

import math
from typing import NamedTuple

import numpy as np

from keras_stackrnn.corpus import Corpus
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.perplexity import PerplexityMeter, perplexity
from keras_stackrnn.training import keras_state
from keras_stackrnn.training.centring import Centring
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.language_status import LanguageStatus
from keras_stackrnn.training.language_step import LanguageStep
from keras_stackrnn.training.noising import Noising
from keras_stackrnn.training.text_windows import TextWindows
from keras_stackrnn.training.workers.group import Alone

# Share of the updates over which the learning rate rises: Adam's first ones know few gradients.
_WARM_UP = 0.01


class TrainingText(NamedTuple):
    """The text a training may see, and none of the test's."""

    vocabulary: list[str]
    train: np.ndarray
    validation: np.ndarray
    first: int  # the token that is read before each text

    @classmethod
    def of(cls, corpus: Corpus) -> "TrainingText":
        return cls(corpus.vocabulary, corpus.train, corpus.validation, corpus.end_of_line)


class LanguageModelTraining:
    """Trains one model, epoch by epoch, and keeps its best weights on validation.

    The states are carried through the whole text. The learning rate rises over the first updates
    and then falls in a straight line, to 0 with the last update.

    Args:
        config: A `LanguageModelConfig`.
        text: A `TrainingText`.
        group: The workers that train it together; `None`: this process is alone.
    """

    def __init__(self, config: LanguageModelConfig, text: TrainingText, group: Alone | None = None):
        self.config = config
        self._text = text
        self._windows = TextWindows(
            text.train, text.first, config.lanes, config.window, config.seed
        )
        self._noising = None
        if config.noising:
            size = len(text.vocabulary)
            self._noising = Noising(text.train, size, config.noising, config.seed)
        architecture = config.architecture(len(text.vocabulary))
        self._model = architecture.model(text.vocabulary, config.task)
        self._model.set_weights(_initial_weights(self._model, config))
        if config.centred:
            Centring(self._model).leave()  # biases of 0 are centred ones
        self._group = group or Alone()
        self._step = LanguageStep(self._model, config, self._group)
        self._validated = self._model.twin()
        self._meter = PerplexityMeter(self._validated)
        self._best_weights = self._model.get_weights()
        self._best = math.inf
        self._epochs: list[dict] = []
        self._updates = 0
        self._entropy = 0.0  # sum over the windows of this epoch

    @property
    def done(self) -> bool:
        """Whether all is read, or nothing more can be learned: from infinity nothing comes back."""
        diverged = self._epochs and not math.isfinite(self._epochs[-1]["validation_perplexity"])
        return bool(diverged) or len(self._epochs) >= self.config.epochs

    @property
    def planned_updates(self) -> int:
        """After how many updates it ends."""
        return self.config.epochs * self._windows.windows

    def advance(self) -> None:
        """One round: some updates, and a validation where they end an epoch."""
        first = self._updates % self._windows.windows
        last = min(first + self.config.updates_a_round, self._windows.windows)
        entropies = []
        for number in range(first, last):
            inputs, targets = self._windows.window(len(self._epochs), number)
            if self._noising is not None:
                inputs = self._noising(inputs, self._updates)
            self._step.learning_rate = self._learning_rate()
            entropies.append(self._step.update(inputs, targets, self._updates))
            self._updates += 1
        self._entropy += sum(float(entropy) for entropy in entropies)
        if last == self._windows.windows:
            self._end_epoch()

    def status(self) -> LanguageStatus:
        windows = self._updates % self._windows.windows
        last = self._epochs[-1] if self._epochs else None
        if windows:
            train = perplexity(self._entropy / windows)
        else:
            train = last["train_perplexity"] if last else math.nan
        return LanguageStatus(
            updates=self._updates,
            symbols=self._updates * self.config.lanes * self.config.window,
            epoch=len(self._epochs) + (windows > 0),
            learning_rate=self._learning_rate(),
            train_perplexity=train,
            validation_perplexity=last["validation_perplexity"] if last else math.nan,
            best_perplexity=self._best,
        )

    def best_model(self) -> NextSymbolModel:
        """The model with the best weights so far."""
        best = self._model.twin()
        best.set_weights(self._best_weights)
        return best

    def epochs(self) -> list[dict]:
        """Every epoch that was ended: its number, learning rate and perplexities."""
        return list(self._epochs)

    def state(self) -> tuple[dict[str, np.ndarray], dict]:
        """Everything, as arrays and as plain values: `restore` continues exactly from there."""
        groups = {"step": self._step.arrays(), "best": self._best_weights}
        meta = {
            "updates": self._updates,
            "entropy": self._entropy,
            "epochs": self._epochs,
            "best": self._best,
        }
        return keras_state.numbered(groups), meta

    def restore(self, arrays: dict[str, np.ndarray], meta: dict) -> None:
        """Continues from a `state()`."""
        self._step.assign(keras_state.group_of(arrays, "step"))
        self._best_weights = keras_state.group_of(arrays, "best")
        self._updates = meta["updates"]
        self._entropy = meta["entropy"]
        self._epochs = meta["epochs"]
        self._best = meta["best"]

    def _end_epoch(self) -> None:
        weights = self._step.weights()
        self._validated.set_weights(weights)
        measured = self._group.of_first(
            lambda: self._meter.measure(self._text.validation, self._text.first)
        )
        self._epochs.append(
            {
                "epoch": len(self._epochs) + 1,
                "learning_rate": self._learning_rate(),
                "train_perplexity": perplexity(self._entropy / self._windows.windows),
                "validation_perplexity": measured,
            }
        )
        self._entropy = 0.0
        self._step.begin_epoch()
        if measured < self._best:
            self._best, self._best_weights = measured, weights

    def _learning_rate(self) -> float:
        risen = min(1.0, (self._updates + 1) / (_WARM_UP * self.planned_updates))
        return self.config.learning_rate * risen * (1 - self._updates / self.planned_updates)


def _initial_weights(model: NextSymbolModel, config: LanguageModelConfig) -> list[np.ndarray]:
    """Keras' usual ones, scaled; and NO-OP's bias."""

    def changed(weight, usual):
        if weight.name == "action_bias" and config.no_op:
            others = usual[: -config.memories]  # NO-OP is the last action
            return np.append(others, np.full(config.memories, config.no_op_bias, usual.dtype))
        is_scaled = not weight.name.endswith("bias") and weight is not model.output_layer.kernel
        return config.initial_scale * usual if is_scaled else usual

    usual = keras_state.initial_weights(model, config.seed)
    return [changed(*pair) for pair in zip(model.weights, usual, strict=True)]
