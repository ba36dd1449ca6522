"""The baselines' search: SimpleRNN and LSTM on the same streams, one restart after the other.

As in the paper, n grows over the first half of a restart's life, and the learning rate is halved,
and the best weights are restored, when the entropy on the validation sequences stops falling.
"""

import dataclasses
import math

import keras
import numpy as np
import tensorflow as tf

from keras_stackrnn.models import NextSymbolModel
from keras_stackrnn.training import keras_state
from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.data import TrainingData
from keras_stackrnn.training.search_status import SearchStatus

_VALIDATIONS_WITHOUT_GAIN = 5
_FIRST_LARGEST_N = 4


@dataclasses.dataclass
class _Restart:
    """One restart: its age in updates, its rate, and the best of its life so far."""

    seed: int
    learning_rate: float
    age: int = 0
    validations_without_gain: int = 0
    entropy: float = math.inf
    accuracy: float = 0.0
    outcome: str = "alive"

    def rank(self) -> tuple[float, float]:
        return self.accuracy, -self.entropy


class BaselineSearch:
    """Trains restarts of a plain recurrent network and keeps the best on validation.

    Args:
        config: A `TrainingConfig` with the model rnn or lstm.
        data: A `TrainingData`.
    """

    def __init__(self, config: TrainingConfig, data: TrainingData):
        self.config = config
        self._data = data
        alphabet = data.task.inputs
        self._model = config.architecture(len(alphabet)).model(alphabet, config.task)
        self._step = _Step(self._model, config)
        self._stream = data.stream(config.lanes, config.window, config.seed)
        rows = data.validation()
        self._validation = rows.tokens, rows.targets, rows.scored
        self._updates = 0
        self._ended: list[_Restart] = []
        self._champion: _Restart | None = None
        self._champion_weights = self._model.get_weights()
        self._begin_restart()

    @property
    def done(self) -> bool:
        return (
            self._updates >= self.config.updates
            or self._solved() >= self.config.wanted
            or len(self._ended) == self.config.population
        )

    @property
    def planned_updates(self) -> int:
        """After how many updates it ends if nothing ends it sooner."""
        return min(self.config.updates, self.config.population * self.config.lifetime)

    def advance(self) -> None:
        """One round: the updates up to the next validation, and the validation."""
        self._stream.set_range(self._data.task.train_sizes[0], self._largest_n())
        for _ in range(self.config.updates_a_round // self.config.episode):
            self._stream.begin_sequences()
            tokens, targets, deterministic, *_ = self._stream.next_windows(self.config.episode)
            self._step.forget()
            for window in zip(tokens, targets, deterministic, strict=True):
                self._step.update(*window)
        self._updates += self.config.updates_a_round
        self._restart.age += self.config.updates_a_round
        self._validate()
        if self._restart.age >= self.config.lifetime:
            self._end_restart()
            if not self.done:
                self._begin_restart()

    def status(self) -> SearchStatus:
        best = self._best()
        return SearchStatus(
            updates=self._updates,
            symbols=self._updates * self.config.lanes * self.config.window,
            n_range=self._stream.n_range,
            alive=self.config.population - len(self._ended),
            solved=self._solved(),
            best_entropy=best.entropy,
            soft_accuracy=best.accuracy,
            rounded_accuracy=math.nan,
        )

    def rank(self) -> tuple:
        """How well the best restart so far does on validation: higher is better."""
        return self._best().rank()

    def best_model(self, rounding: bool = False) -> NextSymbolModel:
        """The best restart so far."""
        best = self._model.twin(rounding=rounding)
        is_running = self._best() is self._restart
        best.set_weights(self._best_weights if is_running else self._champion_weights)
        return best

    def restarts(self) -> list[dict]:
        """Every restart that was begun: its seed, scores and outcome."""
        begun = [*self._ended]
        if self._restart not in begun:
            begun.append(self._restart)
        return [
            {
                "seed": restart.seed,
                "updates": restart.age,
                "outcome": restart.outcome,
                "soft_accuracy": restart.accuracy,
                "soft_entropy": restart.entropy,
            }
            for restart in begun
        ]

    def state(self) -> tuple[dict[str, np.ndarray], dict]:
        """Everything, as arrays and as plain values: `restore` continues exactly from there."""
        groups = {
            "step": self._step.arrays(),
            "best": self._best_weights,
            "champion": self._champion_weights,
        }
        meta = {
            "updates": self._updates,
            "stream": self._stream.state(),
            "restart": dataclasses.asdict(self._restart),
            "ended": [dataclasses.asdict(restart) for restart in self._ended],
            "champion": self._champion and self._ended.index(self._champion),
        }
        return keras_state.numbered(groups), meta

    def restore(self, arrays: dict[str, np.ndarray], meta: dict) -> None:
        """Continues from a `state()`."""
        self._step.assign(keras_state.group_of(arrays, "step"))
        self._best_weights = keras_state.group_of(arrays, "best")
        self._champion_weights = keras_state.group_of(arrays, "champion")
        self._updates = meta["updates"]
        self._stream = self._data.stream_from(meta["stream"])
        self._ended = [_Restart(**values) for values in meta["ended"]]
        self._champion = None if meta["champion"] is None else self._ended[meta["champion"]]
        self._restart = _Restart(**meta["restart"])
        if self._restart.outcome != "alive":
            self._restart = self._ended[-1]

    def _begin_restart(self) -> None:
        seed = (self.config.seed * 100_003 + len(self._ended)) % 2**31
        self._restart = _Restart(seed, self.config.learning_rate)
        self._best_weights = keras_state.initial_weights(self._model, seed)
        self._step.begin(self._best_weights)

    def _end_restart(self) -> None:
        self._restart.outcome = "solved" if self._restart.accuracy == 1 else "not solved"
        self._ended.append(self._restart)
        if self._best() is self._restart:
            self._champion, self._champion_weights = self._restart, self._best_weights

    def _validate(self) -> None:
        restart = self._restart
        accuracy, entropy = self._step.validate(*self._validation)
        if (accuracy, -entropy) > restart.rank():
            restart.accuracy, restart.entropy = accuracy, entropy
            restart.validations_without_gain = 0
            self._best_weights = self._model.get_weights()
            return
        restart.validations_without_gain += 1
        # While n still grows the entropy may rise for no fault of the rate.
        settled = self._largest_n() == self.config.max_n
        if settled and restart.validations_without_gain >= _VALIDATIONS_WITHOUT_GAIN:
            restart.validations_without_gain = 0
            restart.learning_rate /= 2
            self._model.set_weights(self._best_weights)
            self._step.optimizer.learning_rate = restart.learning_rate

    def _largest_n(self) -> int:
        share = min(1.0, 2 * self._restart.age / self.config.lifetime)
        first = min(self.config.max_n, self._data.task.train_sizes[0] + _FIRST_LARGEST_N)
        return first + round(share * (self.config.max_n - first))

    def _best(self) -> _Restart:
        if self._champion is None or self._restart.rank() > self._champion.rank():
            return self._restart
        return self._champion

    def _solved(self) -> int:
        return sum(restart.outcome == "solved" for restart in self._ended)


class _Step:
    """The compiled programs of one network, with all that an update changes."""

    def __init__(self, model: NextSymbolModel, config: TrainingConfig):
        self._model = model
        self._only_deterministic = config.only_deterministic
        # These share the model's cells, and also give their states away.
        self._layers = [
            keras.layers.RNN(layer.cell, return_sequences=True, return_state=True)
            for layer in model.recurrent
        ]
        self.optimizer = keras_state.optimizer_for(
            model, config.optimizer, config.learning_rate, config.clip_norm, config.clip_value
        )
        self._first_values = [variable.numpy() for variable in self.optimizer.variables]
        self._states = self._no_states(config.lanes)
        self._update = tf.function(self._take_update, autograph=False, jit_compile=True)
        # It runs too rarely to earn back the time it would take to compile.
        self._validate = tf.function(self._take_validation, autograph=False)

    def begin(self, weights: list[np.ndarray]) -> None:
        """Begins anew from these weights."""
        zeros = [np.zeros(state.shape, np.float32) for state in tf.nest.flatten(self._states)]
        self.assign([*weights, *self._first_values, *zeros])

    def forget(self) -> None:
        """Goes back to the states that every sequence of the test begins with."""
        self._states = tf.nest.map_structure(tf.zeros_like, self._states)

    def update(self, tokens, targets, deterministic) -> None:
        self._states = self._update(self._states, tokens, targets, deterministic)

    def validate(self, tokens, targets, deterministic) -> tuple[float, float]:
        """The share of rows that are right, and the mean entropy of their symbols."""
        accuracy, entropy = self._validate(tokens, targets, deterministic)
        return float(accuracy), float(entropy)

    def arrays(self) -> list[np.ndarray]:
        return keras_state.to_arrays(self._variables(), self._states)

    def assign(self, arrays: list[np.ndarray]) -> None:
        self._states = keras_state.assign(self._variables(), self._states, arrays)

    def _variables(self) -> list:
        return [*self._model.weights, *self.optimizer.variables]

    def _no_states(self, rows: int) -> list[list[tf.Tensor]]:
        return [layer.get_initial_state(rows) for layer in self._layers]

    def _forward(self, tokens, states):
        sequences = self._model.embed(tokens)
        after = []
        for layer, layer_states in zip(self._layers, states, strict=True):
            sequences, *layer_states = layer(sequences, initial_state=layer_states)
            after.append(layer_states)
        return self._model.output_layer(sequences), after

    def _take_update(self, states, tokens, targets, deterministic):
        counted = tf.cast(deterministic, tf.float32)
        if not self._only_deterministic:
            counted = tf.ones_like(counted)
        with tf.GradientTape() as tape:
            logits, states = self._forward(tokens, states)
            entropies = _entropies(logits, targets)
            loss = tf.reduce_sum(entropies * counted) / tf.maximum(tf.reduce_sum(counted), 1)
        variables = self._model.trainable_variables
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        return states

    def _take_validation(self, tokens, targets, deterministic):
        logits, _ = self._forward(tokens, self._no_states(tokens.shape[0]))
        wrong = tf.not_equal(tf.argmax(logits, axis=-1, output_type=tf.int32), targets)
        right = tf.logical_not(tf.reduce_any(wrong & deterministic, axis=1))
        entropies = tf.where(deterministic, _entropies(logits, targets), 0)
        total = tf.reduce_sum(tf.cast(deterministic, tf.float32))
        return tf.reduce_mean(tf.cast(right, tf.float32)), tf.reduce_sum(entropies) / total


def _entropies(logits, targets):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
