"""A population of sequence models, trained together as one program.

Every weight and every memory has a leading axis, the replica. Replicas share nothing: each has
data, a seed, a learning rate and an optimizer of its own, so that each is what it would be if it
were trained alone, and thirty cost little more than three.

Sizes in the comments: R replicas, B lanes, T symbols of a window, V symbols of the alphabet.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_stackrnn.kernels.lanes import steps_first, steps_last
from keras_stackrnn.kernels.replica_groups import replica_groups
from keras_stackrnn.kernels.scan import Scan, Steps, decider_of, scan
from keras_stackrnn.memories.soft import EMPTY
from keras_stackrnn.models import THRESHOLD
from keras_stackrnn.training.architecture import Architecture
from keras_stackrnn.training.centring import uncentred
from keras_stackrnn.training.optimizers import OPTIMIZERS, clipped
from keras_stackrnn.training.population_state import layers_of

# A program that reads no more symbols than these takes seconds to compile and none to run.
_FEW_SYMBOLS = 2**13


class PopulationScores(NamedTuple):
    """What a validation finds of every replica, `[R]` each.

    Attributes:
        right: Number of sequences with all their deterministic symbols right. (XLA's mean of so
            many ones is not always 1.)
        entropy: Mean entropy of the deterministic symbols, in nats.
        confidence: The smallest probability that a deterministic symbol got; where several may
            come, that these got together.
    """

    right: tf.Tensor
    entropy: tf.Tensor
    confidence: tf.Tensor


def empty(architecture: Architecture, replicas: int, lanes: int) -> tuple[list, list]:
    """Of each layer the controller's states and the memories before anything was read."""
    row_size = architecture.layout.numbers * architecture.memories
    memory_shape = [replicas, architecture.rows, row_size * lanes]
    names = architecture.decider.states

    def states():
        return {name: tf.zeros([replicas, architecture.units, lanes]) for name in names}

    layers = range(architecture.layers)
    return [states() for _ in layers], [tf.fill(memory_shape, EMPTY) for _ in layers]


def forward(architecture, weights, states, memories, tokens, *, noise=None, resets=None, **options):
    """Log-probabilities, `[T, R, V, B]`, for tokens, `[R, B, T]`, and the states and memories of
    all layers after them.

    `resets`, `[R, B, T]`, say before which tokens all begins anew. `options` are those of a `Scan`,
    which leaves the last memory out unless told otherwise.
    """
    decider = decider_of(architecture.decider)
    options = Scan(architecture.layout, architecture.decider, **options)
    if architecture.centred:
        weights = uncentred(weights)
    replicas, lanes, steps = tokens.shape
    if resets is not None:
        resets = _time_first(resets)[:, :, None]
    # A product, because the gradient of looking rows up is slow.
    symbols = tf.one_hot(tf.transpose(tokens, [0, 2, 1]), architecture.symbols, axis=1)
    inputs = tf.reshape(symbols, [replicas, architecture.symbols, steps * lanes])
    noises = [None] * architecture.layers
    if noise is not None:
        noises = tf.split(noise, architecture.layers, axis=2)
    after = []
    for of_layer, *before, of_noise in zip(
        layers_of(architecture, weights), states, memories, noises, strict=True
    ):
        projected = steps_first(decider.projected(of_layer, inputs), steps)
        of_steps = {name: of_layer[name] for name in decider.WEIGHTS if name in of_layer}
        done = scan(options, projected, *before, of_steps, Steps(noise=of_noise, resets=resets))
        inputs = steps_last(done.hiddens)
        after.append((tf.nest.map_structure(tf.stop_gradient, done.states), done.memory))
    logits = tf.matmul(weights["output_kernel"], done.hiddens)
    if architecture.use_bias:
        logits += weights["output_bias"]
    return (tf.nn.log_softmax(logits, axis=2), *map(list, zip(*after, strict=True)))


@functools.cache
def trainer(architecture: Architecture, **options) -> "Trainer":
    """A `Trainer`, compiled once for all searches of a process that need the same."""
    return Trainer(architecture, **options)


class Trainer:
    """The compiled programs: an episode of all replicas, a validation of all replicas.

    Args:
        architecture: The models'.
        optimizer: `"adam"` or `"sgd"`.
        clip_norm: The norm that a replica's gradient is cut to, or `None`.
        clip_value: The size that every number of a gradient is cut to, or `None`.
        only_deterministic: Whether the loss is that of the deterministic symbols alone.
        flows: Whether the windows of an episode continue one another; else each window begins with
            an empty memory, as do the sequences in it.
        several_valid: Whether windows say which symbols may come (`WindowsOfLanguages`).
    """

    def __init__(
        self,
        architecture: Architecture,
        *,
        optimizer: str,
        clip_norm: float | None,
        clip_value: float | None,
        only_deterministic: bool,
        flows: bool = True,
        several_valid: bool = False,
    ):
        self.architecture = architecture
        self.step = OPTIMIZERS[optimizer]
        self.clip_norm = clip_norm
        self.clip_value = clip_value
        self.only_deterministic = only_deterministic
        self.flows = flows
        axes = (0, 1, 2, 1, 1, 1, 1, 1, *([1] if several_valid else []))
        read = replica_groups(self._read_group, axes)
        self._read = tf.function(functools.partial(self._with_noise, read), autograph=False)
        self.validate = tf.function(self._validate, autograph=False, jit_compile=True)

    def read_episode(self, state, learning_rates, noise, seeds, *windows):
        """Takes all replicas through windows that follow one another, an update for each.

        All windows are one call: no group of replicas waits for the others after each of them.

        Args:
            state: A `State`. Memories are not in it: they are empty before the first window.
            learning_rates: `[W, R]`, for W windows.
            noise: `[R]`, the standard deviation of the Gaussian noise on the logits of actions and
                values, and of discrete states. It drives actions to 0 and 1, where rounding them
                changes nothing.
            seeds: `[W, 2]`, those of the noise.
            *windows: The fields of `Windows`, `[W, R, B, T]`, or `WindowsOfLanguages`.

        Returns:
            The new state, and the share of the deterministic symbols that each replica got right
            in spite of the noise, `[R, W]`.
        """
        return self._read(state, learning_rates, noise, seeds, *windows)

    def _with_noise(self, read, state, learning_rates, sizes, seeds, tokens, *symbols):
        windows, replicas, lanes, steps = tokens.shape
        logits = self.architecture.logits * self.architecture.layers
        shape = [steps, replicas, logits, lanes]
        # XLA's program for it would take longer than all the rest of the update.
        noise = [tf.random.stateless_normal(shape, seeds[i]) for i in range(windows)]
        noise = sizes[:, None, None] * tf.stack(noise)
        return read(state, learning_rates, noise, tokens, *symbols)

    def _read_group(self, state, *windows):
        """All that one group of replicas does, from what `_update` takes for each window."""
        _, _, tokens, *_ = windows
        count, replicas, lanes, _ = tokens.shape

        def step(i, state, carried, shares):
            now = (tensor[i] for tensor in windows)
            state, carried, share = self._update(state, carried, *now)
            return i + 1, state, carried, shares.write(i, share)

        _, state, _, shares = tf.while_loop(
            lambda i, *_: i < count,
            step,
            (
                0,
                state,
                empty(self.architecture, replicas, lanes),
                tf.TensorArray(tf.float32, count),
            ),
            maximum_iterations=count,
        )
        return state, tf.transpose(shares.stack())

    def _update(
        self,
        state,
        carried,
        learning_rates,
        noise,
        tokens,
        targets,
        scored,
        resets,
        asked,
        valid=None,
    ):
        """One window of every lane, `[R, B, T]`; `carried` are states and memories."""
        ways = (
            {"last_memory": True, "one_loop_forward": True}
            if self.flows
            else {"starts_empty": True, "resets": resets}
        )
        with tf.GradientTape() as tape:
            tape.watch(state.weights)
            predicted, *after = forward(
                self.architecture, state.weights, *carried, tokens, noise=noise, **ways
            )
            entropies = _entropies(predicted, targets)
            scored, asked = (tf.cast(_time_first(each), tf.float32) for each in (scored, asked))
            counted = scored if self.only_deterministic else asked
            total = tf.reduce_sum(_mean(entropies, counted))
        gradients = clipped(tape.gradient(total, state.weights), self.clip_norm, self.clip_value)
        state = self.step(state, gradients, learning_rates)
        right = tf.cast(_is_right(predicted, targets, valid), tf.float32)
        return state, tuple(after) if self.flows else carried, _mean(right, scored)

    def _validate(
        self, weights, tokens, targets, deterministic, valid=None, *, rounding: bool, long=False
    ) -> PopulationScores:
        """Scores of sequences, `[rows, T]`, which every replica reads with an empty memory; and
        `valid`, `[rows, T, V]`, where several symbols may come. `long` sequences take no more
        memory than they need for that."""
        replicas = weights["kernel"].shape[0]
        is_short = tokens.shape[0] * tokens.shape[1] <= _FEW_SYMBOLS
        nothing = empty(self.architecture, replicas, tokens.shape[0])
        tokens, targets, deterministic = (
            tf.tile(array[None], [replicas, 1, 1]) for array in (tokens, targets, deterministic)
        )
        predicted, *_ = forward(
            self.architecture,
            weights,
            *nothing,
            tokens,
            rounding=rounding,
            keep_rows=not long,
            in_one_block=is_short,
        )
        if valid is not None:
            valid = tf.tile(valid[None], [replicas, 1, 1, 1])
        counted = _time_first(deterministic)
        row_is_right = tf.reduce_all(_is_right(predicted, targets, valid) | ~counted, axis=0)
        entropies = tf.where(counted, _entropies(predicted, targets), 0)
        doubts = entropies
        if valid is not None:
            possible = tf.where(_symbols_third(valid), predicted, -np.inf)
            doubts = tf.where(counted, -tf.reduce_logsumexp(possible, axis=2), 0)
        return PopulationScores(
            right=tf.reduce_sum(tf.cast(row_is_right, tf.int32), axis=1),
            entropy=_mean(entropies, tf.cast(counted, tf.float32)),
            confidence=tf.exp(-tf.reduce_max(doubts, axis=[0, 2])),
        )


def _entropies(predicted, targets):
    """`[T, R, B]`, of log-probabilities `[T, R, V, B]` and targets `[R, B, T]`."""
    chosen = tf.one_hot(_time_first(targets), predicted.shape[2], axis=2)
    return -tf.reduce_sum(predicted * chosen, axis=2)


def _is_right(predicted, targets, valid=None):
    """Whether the most probable symbol is the target; or where several may come, `[R, B, T, V]`,
    whether exactly these are probable."""
    if valid is not None:
        return tf.reduce_all((predicted > math.log(THRESHOLD)) == _symbols_third(valid), axis=2)
    best = tf.argmax(predicted, axis=2, output_type=targets.dtype)
    return tf.equal(best, _time_first(targets))


def _time_first(tensor):
    """`[R, B, T]` as `[T, R, B]`."""
    return tf.transpose(tensor, [2, 0, 1])


def _symbols_third(tensor):
    """`[R, B, T, V]` as `[T, R, V, B]`."""
    return tf.transpose(tensor, [2, 0, 3, 1])


def _mean(values, counted):
    """Each replica's mean of those values, `[T, R, B]`, that count."""
    total = tf.reduce_sum(counted, axis=[0, 2])
    return tf.reduce_sum(values * counted, axis=[0, 2]) / tf.maximum(total, 1)
