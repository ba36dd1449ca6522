"""What every exported model can be asked, whatever it answers, and what its signatures are made of.

The signatures of each form of model are in a file of their own: `next_symbol.py`,
`transduction.py`, `recognition.py`.
"""

import functools
import json
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

from keras_stackrnn.export.answers import reading_of
from keras_stackrnn.export.description import description_of
from keras_stackrnn.export.reader import Reader
from keras_stackrnn.export.require import listed, require, require_none
from keras_stackrnn.export.symbols import Symbols
from keras_stackrnn.export.tensors import padded, softmax
from keras_stackrnn.memories.soft import EMPTY

TOKENS = tf.TensorSpec([None, None], tf.int32, "tokens")
LENGTHS = tf.TensorSpec([None], tf.int32, "lengths")
TEXT = tf.TensorSpec([None], tf.string, "text")
# One for all rows, or one for each: a server that merges requests needs the latter.
_BATCH_SIZE = tf.TensorSpec(None, tf.int32, "batch_size")
_LENGTH_OF_WARMUP = 8


class Signature(NamedTuple):
    """A function of tensors that returns a dict of them.

    Attributes:
        function: The function.
        inputs: What it takes.
        request: Of each input a value, for the request that warms a server up.
    """

    # By which of TensorFlow Serving's methods it is asked for.
    method = tf.saved_model.PREDICT_METHOD_NAME

    function: Callable
    inputs: list[tf.TensorSpec]
    request: dict[str, tf.Tensor]

    def traced(self) -> "Signature":
        """The same, with a graph that is made once; TensorFlow makes it again at every use."""
        return self._replace(function=traced(self.function, self.inputs))

    def log(self, model: str, name: str) -> prediction_log_pb2.PredictionLog:
        """The request that warms a server up, as TensorFlow Serving reads it."""
        request = predict_pb2.PredictRequest()
        request.model_spec.name = model
        request.model_spec.signature_name = name
        for alias, value in self.request.items():
            request.inputs[alias].CopyFrom(tf.make_tensor_proto(value))
        log = prediction_log_pb2.PredictionLog()
        log.predict_log.request.CopyFrom(request)
        return log


def traced(function: Callable, inputs: list[tf.TensorSpec]) -> Callable:
    """The function with a graph that is made once."""
    graph = tf.function(function, input_signature=inputs, autograph=False)
    concrete = graph.get_concrete_function()
    return lambda *inputs: concrete(*inputs)


class Signatures:
    """What an exported model can be asked; a subclass adds what its form of model answers.

    B is the batch, T the longest sequence of a request, V the answers, M the memories of all layers
    together, the first layer's first, and A the actions. What comes after a row's length never
    matters.

    Args:
        reader: Reads with the model.
        symbols: Its vocabulary.
    """

    def __init__(self, reader: Reader, symbols: Symbols):
        self._reader = reader
        self._symbols = symbols

    def untraced(self) -> dict[str, Signature]:
        """The signatures by name, before their graphs are made; models without memories have no
        `trace` and no `force`."""
        specs = list(self._reader.state_specs.values())
        state = self._reader.initial_state(1)
        signatures = {
            "step": Signature(
                self.step, [TOKENS, LENGTHS, *specs], {**self.request_of_tokens(), **state}
            ),
            "initial_state": Signature(
                self.initial_state, [_BATCH_SIZE], {"batch_size": tf.constant(1)}
            ),
        }
        read = self.request_of_tokens()
        one = {"batch_size": tf.constant(1)}
        signatures["describe"] = Signature(self.describe, [_BATCH_SIZE], one)
        forced, nothing = [], {}
        if self._reader.has_memory:
            signatures["trace"] = Signature(self.trace, [TEXT], self.request_of_text())
            shape = [None, None, self._reader.memories]
            forced = [tf.TensorSpec(shape, tf.int32, "forced")]
            nothing = {"forced": -tf.ones([1, *read["tokens"].shape[1:], shape[-1]], tf.int32)}
            signatures["force"] = Signature(
                self.force, [TOKENS, LENGTHS, *forced], {**read, **nothing}
            )
        signatures["trace_on"] = Signature(
            self.trace_on, [TOKENS, LENGTHS, *forced, *specs], {**read, **nothing, **state}
        )
        return signatures

    # What several signatures share has one graph, too, outside of those that ask for it first.

    @functools.cached_property
    def _read(self) -> Callable:
        with tf.init_scope():
            return traced(self._reads, [TOKENS, LENGTHS])

    @functools.cached_property
    def _read_on(self) -> Callable:
        with tf.init_scope():
            return traced(self._reads_on, [TOKENS, LENGTHS, *self._reader.state_specs.values()])

    @property
    def length_of_warmup(self) -> int:
        """How many symbols are read to warm a server up: a few that answers have room after."""
        model, most = self._reader.model, self._symbols.limits.length
        lengths = range(min(_LENGTH_OF_WARMUP, most), 0, -1)
        return next((n for n in lengths if sum(model.answer_places_of(n)) <= most), 0)

    def request_of_text(self) -> dict[str, tf.Tensor]:
        """A text to warm a server up with."""
        return {"text": tf.constant([self._symbols.example(self.length_of_warmup)])}

    def request_of_tokens(self) -> dict[str, tf.Tensor]:
        """Tokens to do the same with."""
        length = self.length_of_warmup
        return {"tokens": tf.zeros([1, length], tf.int32), "lengths": tf.constant([length])}

    def step(self, tokens, lengths, *states):
        """Reads on from a state.

        Returns:
            `probabilities` `[B, V]` of the answers, of a next-symbol model that is the next symbol;
            and every state tensor after the last symbol of each row. The memories are as deep as
            the deepest of the batch.
        """
        hidden, states = self._read_on(tokens, lengths, *states)
        return {"probabilities": softmax(self._reader.logits(hidden)), **states}

    def initial_state(self, batch_size):
        """The state tensors before the first symbol.

        Args:
            batch_size: How many rows; or a vector, and then a row for each of its entries.
        """
        return self._reader.initial_state(self._rows(batch_size))

    def _rows(self, batch_size):
        rows = tf.cond(
            tf.equal(tf.rank(batch_size), 0),
            lambda: tf.reshape(batch_size, []),
            lambda: tf.size(batch_size),
        )
        rows = require(rows, rows >= 0, "Expected a batch_size of 0 or more, got ", rows)
        return self._symbols.limits.rows(rows)

    def trace(self, text):
        """What the memories did at each symbol of a text.

        Returns:
            `symbols` `[B, T]`; `lengths` `[B]`; `actions` `[B, T, M, A]`, their weights, which are
            0 or 1 if the model was exported with rounding; `action_names` `[B, A]`; `tops`
            `[B, T, M]`, the element of each memory that is read first, after the symbol, -1 being
            empty; `values` `[B, T, M]`, what is there to be written, both of elements of several
            numbers their mean; `memory_kind` `[B]`, the table of actions as JSON;
            `probabilities` `[B, T, V]` of the answers, of a next-symbol model that is the symbol
            after it; `vocabulary` `[B, V]`, the answers. Where there is padding: "", 0, -1, 0 and
            0. Where answers have places of their own, these are among the symbols, and `asked`
            `[B, T]` tells which they are.
        """
        reader = self._reader
        reading = self._reading(text)
        tokens, lengths = reading.tokens, reading.lengths
        states = reader.initial_state(tf.shape(text)[0])
        records = reader.read(tokens, lengths, states, traced=True)
        steps = tf.shape(tokens)[1]
        kind = json.dumps(reader.layers[0].layout.kind.description())
        asked = {"asked": reading.asked} if reader.model.marks else {}
        return {
            "symbols": padded(self._symbols.names(tokens), lengths, steps, ""),
            "lengths": lengths,
            "action_names": tf.tile([reader.layers[0].cell.actions], [tf.shape(text)[0], 1]),
            "memory_kind": tf.tile([kind], tf.shape(text)),
            "vocabulary": tf.tile([reader.model.answers], [tf.shape(text)[0], 1]),
            **asked,
            **self._watched(records, lengths, steps),
        }

    def describe(self, batch_size):
        """What a page has to know of the model to ask it and to draw it: see `description.py`.

        Args:
            batch_size: As of `initial_state`.

        Returns:
            `model` `[B]`, the same JSON in each row.
        """
        description = tf.constant(description_of(self._reader.model, self._symbols))
        return {"model": tf.fill([self._rows(batch_size)], description)}

    def trace_on(self, tokens, lengths, *forced_and_states):
        """Reads on from a state and tells what the memories did, or would do with forced actions.

        Args:
            tokens: `[B, T]`.
            lengths: `[B]`.
            forced: `[B, F, M]`, the index of the action that a memory has to take at a symbol, or
                -1 where it is free, as it is after the first F symbols. Models without memories
                have no such input.
            states: After the last symbol, `initial_state` before the first.

        Returns:
            `actions`, `tops`, `values` and `probabilities`, as those of `trace`; and every state
            tensor after the last symbol of each row. Of a model without memories the latter two.
        """
        reader = self._reader
        forced, states = None, forced_and_states
        if reader.has_memory:
            forced, *states = forced_and_states
        states = dict(zip(reader.state_specs, states, strict=True))
        tokens, lengths = self._checked(tokens, lengths, **states)
        forced = self._checked_forced(forced, tokens)
        records, carried = reader.read_forced(
            tokens, lengths, forced, states, traced=reader.has_memory
        )
        steps = tf.shape(tokens)[1]
        return {**self._watched(records, lengths, steps), **reader.end(carried)}

    def force(self, tokens, lengths, forced):
        """The answer after each sequence, had the memories taken other actions.

        Args:
            tokens: `[B, T]`.
            lengths: `[B]`.
            forced: As of `trace_on`.

        Returns:
            `probabilities` `[B, V]`.
        """
        tokens, lengths = self._checked(tokens, lengths)
        forced = self._checked_forced(forced, tokens)
        states = self._reader.initial_state(tf.shape(tokens)[0])
        _, carried = self._reader.read_forced(tokens, lengths, forced, states, traced=False)
        return {"probabilities": softmax(self._reader.logits(self._reader.hidden(carried)))}

    def _watched(self, records, lengths, steps):
        """What is told of each symbol, from the records of all, `[1 + longest, …]`."""
        reader, batch = self._reader, tf.shape(lengths)[0]
        hiddens, *records = (each[1:] for each in records)
        probabilities = tf.transpose(softmax(reader.logits(hiddens)), [1, 0, 2])
        told = {"probabilities": padded(probabilities, lengths, steps, 0.0)}
        if not reader.has_memory:
            return told
        layers = len(reader.layers)
        actions = self._join_lanes(records[:layers], batch)
        tops = self._join_lanes(
            [
                _mean_of_elements(record, layer.layout.element_size)
                for layer, record in zip(reader.layers, records[layers : 2 * layers], strict=True)
            ],
            batch,
        )
        pairs = zip(reader.layers, records[2 * layers :], strict=True)
        values = tf.concat([layer.written(record) for layer, record in pairs], axis=-1)
        return {
            "actions": padded(tf.transpose(actions, [3, 0, 2, 1]), lengths, steps, 0.0),
            "tops": padded(tf.transpose(tops, [2, 0, 1]), lengths, steps, EMPTY),
            "values": padded(tf.transpose(values, [1, 0, 2]), lengths, steps, 0.0),
            **told,
        }

    def _checked_forced(self, forced, tokens):
        """The same actions for all tokens `[B, T]`, if there are such actions; `None` if `None`."""
        if forced is None:
            return None
        rows, columns, _ = tf.unstack(tf.shape(forced))
        batch, steps = tf.unstack(tf.shape(tokens))
        forced = require(
            forced,
            tf.equal(rows, batch) & (columns <= steps),
            "Expected forced actions for each row, and for no more symbols than they have: ",
            batch,
            " times ",
            steps,
            ", got ",
            rows,
            " times ",
            columns,
        )
        last = len(self._reader.layers[0].cell.actions) - 1
        forced = require_none(
            forced,
            tf.boolean_mask(forced, (forced < -1) | (forced > last)),
            f"Unknown forced action: expected -1 to {last}",
        )
        return tf.pad(forced, [[0, 0], [0, steps - columns], [0, 0]], constant_values=-1)

    def _reading(self, text):
        """What the model reads for texts."""
        tokens, lengths = self._symbols.encode(text)
        return reading_of(self._reader.model, tokens, lengths, self._symbols.limits.lengths)

    def _join_lanes(self, records, batch):
        """`[…, lanes]` of each layer as `[…, M, batch]`."""
        size = [self._reader.layers[0].memories, batch]
        shapes = [tf.concat([tf.shape(record)[:-1], size], axis=0) for record in records]
        split = [tf.reshape(*pair) for pair in zip(records, shapes, strict=True)]
        return tf.concat(split, axis=-2)

    def _reads(self, tokens, lengths):
        """Checks a request and reads its symbols.

        Returns:
            The hidden units after each number of symbols, `[1 + longest, B, units]`; after a row's
            length there is anything in them.
        """
        states = self._reader.initial_state(tf.shape(tokens)[0])
        (hiddens,) = self._reader.read(*self._checked(tokens, lengths), states)
        return hiddens

    def _reads_on(self, tokens, lengths, *states):
        """Checks a request and reads its symbols.

        Returns:
            The hidden units that predict what comes next, and the states, after each row's last
            symbol.
        """
        states = dict(zip(self._reader.state_specs, states, strict=True))
        tokens, lengths = self._checked(tokens, lengths, **states)
        return self._reader.read_on(tokens, lengths, states)

    def _checked(self, tokens, lengths, **states):
        """The same tokens and lengths, with token 0 where there is padding."""
        tokens = self._symbols.limits.tokens(tokens)
        named = {"tokens": tokens, "lengths": lengths, **states}
        rows = tf.stack([tf.shape(tensor)[0] for tensor in named.values()])
        lengths = require(
            lengths,
            tf.reduce_all(tf.equal(rows, rows[0])),
            f"Expected as many rows in each of {', '.join(named)}, got ",
            listed(rows, limit=len(named)),
        )
        columns = tf.shape(tokens)[1]
        lengths = require_none(
            lengths,
            tf.boolean_mask(lengths, (lengths < 0) | (lengths > columns)),
            "Expected lengths between 0 and the number of tokens in a row, ",
            columns,
        )
        last = len(self._symbols.vocabulary) - 1
        counts = tf.sequence_mask(lengths, columns)
        tokens = require_none(
            tokens,
            tf.boolean_mask(tokens, counts & ((tokens < 0) | (tokens > last))),
            f"Unknown token: expected 0 to {last}",
        )
        return tf.where(counts, tokens, 0), lengths


def _mean_of_elements(tensor, element_size):
    """Of elements of several numbers, all memories' first ones first, the mean."""
    if element_size == 1:
        return tensor
    return tf.add_n(tf.split(tensor, element_size, axis=-1)) / element_size
