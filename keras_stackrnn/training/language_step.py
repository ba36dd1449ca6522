"""One update of a language model: a window through the layers and the softmax, compiled."""

import numpy as np
import tensorflow as tf

from keras_stackrnn.explicit_state import ExplicitStateLayers
from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.training import keras_state
from keras_stackrnn.training.blockwise_cross_entropy import blockwise_cross_entropy
from keras_stackrnn.training.centring import Centring
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.workers.group import Alone


class LanguageStep:
    """The compiled program of an update, with all that an update changes.

    Args:
        model: The model to train.
        config: A `LanguageModelConfig`.
        group: The workers among which the lanes are shared out; `None`: this process is alone.
    """

    def __init__(
        self, model: NextSymbolModel, config: LanguageModelConfig, group: Alone | None = None
    ):
        self._model = model
        self._config = config
        self._layers = ExplicitStateLayers(model)
        self._centring = Centring(model) if config.centred else None
        self._optimizer = keras_state.optimizer_for(
            model, config.optimizer, config.learning_rate, config.clip_norm
        )
        self._averages = []
        if config.averaging:
            self._averages = [tf.Variable(w.value, trainable=False) for w in model.weights]
        self._group = group or Alone()
        self._lanes = self._group.lanes(config.lanes)
        self._states = self._initial_states()
        if self._group.count == 1:
            self._program = _compiled(self._take)
        else:
            self._program = self._take_together
            self._read_compiled, self._learn_compiled = map(_compiled, (self._read, self._learn))

    def update(self, inputs: np.ndarray, targets: np.ndarray, number: int) -> tf.Tensor:
        """Takes one window, `[lanes, window]`, and returns its mean entropy.

        Args:
            inputs: Token ids.
            targets: The token ids that follow them.
            number: Of this update: what is dropped depends on it.
        """
        inputs, targets = inputs[self._lanes], targets[self._lanes]
        entropy, self._states = self._program(inputs, targets, self._states, np.int32(number))
        return entropy

    def begin_epoch(self) -> None:
        """Begins a text anew: nothing was read yet."""
        self._states = self._initial_states()

    @property
    def learning_rate(self) -> float:
        return float(self._optimizer.learning_rate)

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        self._optimizer.learning_rate = value

    def weights(self) -> list[np.ndarray]:
        """The weights to validate and to keep: averages, if there are any."""
        if self._averages:
            return [average.numpy() for average in self._averages]
        return self._model.get_weights()

    def arrays(self) -> list[np.ndarray]:
        """All that an update changes, the states those of all workers' lanes."""
        variables = self._variables()
        arrays = keras_state.to_arrays(variables, self._states)
        states = arrays[len(variables) :]
        return [*arrays[: len(variables)], *map(self._group.gathered, states)]

    def assign(self, arrays: list[np.ndarray]) -> None:
        """Goes on from `arrays()`."""
        variables = self._variables()
        states = [state[self._lanes] for state in arrays[len(variables) :]]
        own = [*arrays[: len(variables)], *states]
        self._states = keras_state.assign(variables, self._states, own)

    def _initial_states(self):
        return self._layers.initial_states(self._lanes.stop - self._lanes.start)

    def _variables(self):
        return [*self._model.weights, *self._optimizer.variables, *self._averages]

    def _take(self, inputs, targets, states, number):
        entropy, gradients, states = self._read(inputs, targets, states, number)
        self._learn(gradients, number)
        return entropy, states

    def _take_together(self, inputs, targets, states, number):
        """The same with the means of all workers, which have as many lanes each."""
        entropy, gradients, states = self._read_compiled(inputs, targets, states, number)
        entropy, *gradients = self._group.mean([entropy, *gradients])
        self._learn_compiled(gradients, number)
        return entropy, states

    def _read(self, inputs, targets, states, number):
        with tf.GradientTape() as tape:
            embedded = self._drop(self._model.embed(inputs), self._config.input_dropout, number, 0)
            outputs, states = self._layers.read(embedded, states, training=True)
            middle = self._centring.outputs if self._centring else 0.0
            outputs = middle + self._drop(outputs - middle, self._config.dropout, number, 1)
            entropy = blockwise_cross_entropy(
                tf.reshape(outputs, [-1, outputs.shape[-1]]),
                self._model.output_layer.kernel,
                self._model.output_layer.bias,
                tf.reshape(targets, [-1]),
            )
        variables = self._model.trainable_variables
        # The norm of an embedding's gradient is that of its rows, each summed up first.
        gradients = [tf.convert_to_tensor(each) for each in tape.gradient(entropy, variables)]
        return entropy, gradients, states

    def _learn(self, gradients, number):
        self._apply(gradients, self._model.trainable_variables)
        # Young averages keep less: the initial weights are soon forgotten.
        age = tf.cast(number, tf.float32)
        kept = tf.minimum(self._config.averaging, (1 + age) / (10 + age))
        for average, weight in zip(self._averages, self._model.weights, strict=False):
            average.assign(kept * average + (1 - kept) * weight.value)

    def _apply(self, gradients, variables):
        if self._centring is None:
            self._optimizer.apply(gradients, variables)
            return
        self._centring.enter()
        self._optimizer.apply(self._centring.gradients(gradients, variables), variables)
        self._centring.leave()

    def _drop(self, tensor, rate, number, place):
        """Dropout outside the recurrence; what is dropped follows from the seed and the update."""
        if not rate:
            return tensor
        seed = tf.stack([self._config.seed, 2 * number + place])
        # Drawn for the lanes of all workers, so that each drops what one alone would drop there.
        shape = tf.concat([[self._config.lanes], tf.shape(tensor)[1:]], axis=0)
        kept = tf.random.stateless_uniform(shape, seed)[self._lanes] >= rate
        return tf.where(kept, tensor / (1 - rate), 0)


def _compiled(function):
    return tf.function(function, autograph=False, jit_compile=True)
