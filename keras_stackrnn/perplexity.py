"""Perplexity of a text, exact: every token, after all those before it."""

import math

import numpy as np
import tensorflow as tf

from keras_stackrnn.explicit_state import ExplicitStateLayers
from keras_stackrnn.models import NextSymbolModel

_TOKENS_A_CALL = 1024


class PerplexityMeter:
    """Has a model read texts in one lane, from the first token to the last.

    The text goes through one compiled program, call after call; the states go along, so that what
    comes out does not depend on where one call ends and the next begins.

    Args:
        model: A `NextSymbolModel`; its weights are read anew at every measurement.
        tokens_a_call: How many tokens one call takes.
    """

    def __init__(self, model: NextSymbolModel, tokens_a_call: int = _TOKENS_A_CALL):
        self._model = model
        self._layers = ExplicitStateLayers(model)
        self._tokens_a_call = tokens_a_call
        self._program = tf.function(self._read, autograph=False, jit_compile=True)

    def measure(self, tokens: np.ndarray, first: int) -> float:
        """The perplexity of a text.

        Args:
            tokens: Its token ids; every one of them counts.
            first: The token that is read before the first of them.
        """
        return perplexity(self.entropy(tokens, first))

    def entropy(self, tokens: np.ndarray, first: int) -> float:
        """The mean of -log p(token | tokens before it), in nats."""
        if not len(tokens):
            raise ValueError("There are no tokens to measure.")
        inputs = np.concatenate([[first], tokens[:-1]])
        states = self._layers.initial_states(1)
        total = 0.0
        for start in range(0, len(tokens), self._tokens_a_call):
            chunk = slice(start, start + self._tokens_a_call)
            entropies, states = self._program(
                self._padded(inputs[chunk]), self._padded(tokens[chunk]), states
            )
            total += float(np.sum(entropies.numpy()[: len(tokens[chunk])], dtype=np.float64))
        return total / len(tokens)

    def _padded(self, tokens):
        """A call's tokens, which are fewer at the end of a text; what follows it is not counted."""
        missing = self._tokens_a_call - len(tokens)
        return tf.constant(np.pad(tokens, (0, missing))[None], tf.int32)

    def _read(self, inputs, targets, states):
        embedded = self._model.embed(inputs)
        outputs, states = self._layers.read(embedded, states, training=False)
        logits = self._model.output_layer(outputs)
        return tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)[0], states


def perplexity(entropy: float) -> float:
    """From nats; of a model that has diverged it may be more than a float can say."""
    try:
        return math.exp(entropy)
    except OverflowError:
        return math.inf
