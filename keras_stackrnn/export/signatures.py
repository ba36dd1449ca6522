"""The signatures of an exported model: what goes in, what comes out, and how it is computed."""

import json
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_stackrnn.export.reader import Reader, loop
from keras_stackrnn.export.require import listed, require, require_none
from keras_stackrnn.export.symbols import Symbols
from keras_stackrnn.export.tensors import longest, softmax, transposed
from keras_stackrnn.memories.soft import EMPTY

TOP_SYMBOLS = 10
# Of one text, and of all texts of a request: a small request cannot take all of a server's memory.
MAX_GENERATED = 10_000
MAX_GENERATED_TOGETHER = 1_000_000
_PHILOX = tf.random.Algorithm.PHILOX.value

_TOKENS = tf.TensorSpec([None, None], tf.int32, "tokens")
_LENGTHS = tf.TensorSpec([None], tf.int32, "lengths")
_TEXT = tf.TensorSpec([None], tf.string, "text")
# One for all rows, or one for each: a server that merges requests needs the latter.
_BATCH_SIZE = tf.TensorSpec(None, tf.int32, "batch_size")
_MAX_SYMBOLS = tf.TensorSpec(None, tf.int32, "max_symbols")
_TEMPERATURE = tf.TensorSpec(None, tf.float32, "temperature")
_SEED = tf.TensorSpec(None, tf.int64, "seed")
_POSITION = tf.TensorSpec(None, tf.int64, "position")


class Signature(NamedTuple):
    """A function of tensors that returns a dict of them."""

    function: Callable
    inputs: list[tf.TensorSpec]

    def traced(self) -> "Signature":
        """The same, with a graph that is made once; TensorFlow makes it again at every use."""
        function = tf.function(self.function, input_signature=self.inputs, autograph=False)
        graph = function.get_concrete_function()
        return Signature(lambda *inputs: graph(*inputs), self.inputs)


class Signatures:
    """All that an exported model can be asked.

    B is the batch, T the longest sequence of a request, V the vocabulary, M the memories of all
    layers together, the first layer's first, and A the actions. What comes after a row's length
    never matters.

    Args:
        reader: Reads with the model.
        symbols: Its vocabulary.
    """

    def __init__(self, reader: Reader, symbols: Symbols):
        self._reader = reader
        self._symbols = symbols
        read = Signature(self._read, [_TOKENS, _LENGTHS])
        read_on = Signature(self._read_on, [_TOKENS, _LENGTHS, *reader.state_specs.values()])
        self._read, self._read_on = read.traced().function, read_on.traced().function

    def all(self) -> dict[str, Signature]:
        """The signatures by name; models without memories have no `trace`."""
        specs = list(self._reader.state_specs.values())
        drawing = [_MAX_SYMBOLS, _TEMPERATURE, _SEED]
        signatures = {
            "serving_default": Signature(self.predict, [_TOKENS, _LENGTHS]),
            "predict_text": Signature(self.predict_text, [_TEXT]),
            "score": Signature(self.score, [_TOKENS, _LENGTHS]),
            "step": Signature(self.step, [_TOKENS, _LENGTHS, *specs]),
            "initial_state": Signature(self.initial_state, [_BATCH_SIZE]),
            "generate": Signature(self.generate, [_TEXT, *drawing]),
            "generate_on": Signature(self.generate_on, [_TEXT, *drawing, _POSITION, *specs]),
        }
        if self._reader.has_memory:
            signatures["trace"] = Signature(self.trace, [_TEXT])
        return {name: signature.traced() for name, signature in signatures.items()}

    def predict(self, tokens, lengths):
        """The symbol after each sequence.

        Returns:
            `probabilities` `[B, V]` and `next_token` `[B]`, the most probable; of an empty
            sequence those that the output's bias alone gives. `log_likelihood` `[B]`: the sum of
            log p(symbol t | symbols before t) over t >= 1, as nothing predicts the first symbol.
        """
        logits, log_probabilities = self._scored(tokens, lengths)
        probabilities = softmax(_at(lengths, logits))
        return {
            "probabilities": probabilities,
            "next_token": tf.argmax(probabilities, axis=-1, output_type=tf.int32),
            # Summed up in an order that does not depend on the padding.
            "log_likelihood": tf.reduce_sum(log_probabilities[:, : longest(lengths)], axis=1),
        }

    def predict_text(self, text):
        """The symbol after each text.

        Returns:
            `probabilities` `[B, V]`; `next_symbol` `[B]`; and the most probable symbols, best
            first, as `top_symbols` and `top_probabilities`, both `[B, 10]`, or V if that is less.
        """
        tokens, lengths = self._symbols.encode(text)
        hidden = _at(lengths, self._read(tokens, lengths))
        probabilities = softmax(self._reader.logits(hidden))
        count = min(TOP_SYMBOLS, len(self._symbols.vocabulary))
        top_probabilities, top_tokens = tf.math.top_k(probabilities, count)
        top_symbols = self._symbols.names(top_tokens)
        return {
            "probabilities": probabilities,
            "next_symbol": top_symbols[:, 0],
            "top_symbols": top_symbols,
            "top_probabilities": top_probabilities,
        }

    def score(self, tokens, lengths):
        """How probable each symbol was.

        Returns:
            `log_probabilities` `[B, T]`: log p(symbol t | symbols before t), 0 for the first one,
            which nothing predicts, and where there is padding. `predictions` `[B, T]`: the most
            probable symbol after t, -1 where there is padding.
        """
        logits, log_probabilities = self._scored(tokens, lengths)
        predictions = tf.transpose(tf.argmax(logits[1:], axis=-1, output_type=tf.int32))
        return {
            "log_probabilities": log_probabilities,
            "predictions": _padded(predictions, lengths, tf.shape(tokens)[1], -1),
        }

    def step(self, tokens, lengths, *states):
        """Reads on from a state.

        Returns:
            `probabilities` `[B, V]` of the next symbol, and every state tensor after the last
            symbol of each row. The memories are as deep as the deepest of the batch.
        """
        hidden, states = self._read_on(tokens, lengths, *states)
        return {"probabilities": softmax(self._reader.logits(hidden)), **states}

    def initial_state(self, batch_size):
        """The state tensors before the first symbol.

        Args:
            batch_size: How many rows; or a vector, and then a row for each of its entries.
        """
        rows = tf.cond(
            tf.equal(tf.rank(batch_size), 0),
            lambda: tf.reshape(batch_size, []),
            lambda: tf.size(batch_size),
        )
        rows = require(rows, rows >= 0, "Expected a batch_size of 0 or more, got ", rows)
        rows = self._symbols.limits.rows(rows)
        return self._reader.initial_state(rows)

    def generate(self, text, max_symbols, temperature, seed):
        """Continues each text; a symbol costs the same after a long text as after a short one.

        Args:
            text: `[B]`.
            max_symbols: How many symbols to add; as the others, one for all or `[B]`.
            temperature: 0 always takes the most probable symbol; 1 draws by the probabilities;
                above 1 is more random.
            seed: A text, a seed and the other arguments always give the same continuation,
                whatever else is in the batch.

        Returns:
            `text` `[B]`: the continuations, without the texts.
        """
        states = self._reader.initial_state(tf.shape(text)[0])
        drawn, limits, _ = self._drawn(text, max_symbols, temperature, seed, 0, states, stops=False)
        return {"text": self._symbols.decode(drawn, limits)}

    def generate_on(self, text, max_symbols, temperature, seed, position, *states):
        """A part of a continuation: all parts together are what `generate` gives, of any length.

        Args:
            text: `[B]`, what to read before; nothing but in the first part.
            max_symbols: How many symbols this part has; see `generate`.
            temperature: See `generate`.
            seed: See `generate`.
            position: How many symbols there were before this part; one for all or `[B]`.
            states: After the last part, `initial_state` before the first.

        Returns:
            `symbols` `[B, T]`, T being the largest of `max_symbols`; `written` `[B, T]`, what each
            adds to the text; and every state tensor. Where there is padding: "".
        """
        positions = tf.broadcast_to(position, tf.shape(text))
        positions = require_none(
            positions,
            tf.boolean_mask(positions, positions < 0),
            "Expected a position of 0 or more",
        )
        states = dict(zip(self._reader.state_specs, states, strict=True))
        drawn, limits, carried = self._drawn(
            text, max_symbols, temperature, seed, positions, states, stops=True
        )
        steps = longest(limits)
        return {
            "symbols": _padded(self._symbols.names(drawn), limits, steps, ""),
            "written": _padded(self._symbols.written(drawn, positions), limits, steps, ""),
            **self._reader.end(carried),
        }

    def _drawn(self, text, max_symbols, temperature, seed, position, states, stops):
        """Tokens drawn after a text, `[B, longest]`; how many of each row count; what is carried in
        the end, if it `stops` at each row's own last symbol."""
        reader, batch = self._reader, tf.shape(text)
        limits = tf.broadcast_to(max_symbols, batch)
        temperatures = tf.broadcast_to(temperature, batch)
        limits = require_none(
            limits,
            tf.boolean_mask(limits, (limits < 0) | (limits > MAX_GENERATED)),
            f"Expected max_symbols between 0 and {MAX_GENERATED}",
        )
        limits = require(
            limits,
            batch[0] <= MAX_GENERATED_TOGETHER // tf.maximum(longest(limits), 1),
            f"Expected at most {MAX_GENERATED_TOGETHER} symbols for all texts together, got ",
            batch[0],
            " times ",
            longest(limits),
        )
        is_right = (temperatures >= 0) & tf.math.is_finite(temperatures)
        temperatures = require_none(
            temperatures,
            tf.boolean_mask(temperatures, ~is_right),
            "Expected a temperature of 0 or more",
        )
        positions = tf.broadcast_to(tf.cast(position, tf.int64), batch)
        uniforms = _uniforms(tf.broadcast_to(seed, batch), limits, positions)
        steps = longest(limits)
        tokens, lengths = self._symbols.encode(text)
        _, states = self._read_on(tokens, lengths, *states.values())
        carried = reader.begin(states, steps, piled=reader.rounds)
        advance = reader.stepper()

        def step(t, carried, drawn):
            token = _draw(reader.logits(reader.hidden(carried)), temperatures, uniforms[:, t])
            carried, _ = advance(reader.inputs(token), carried, t < limits if stops else None)
            return t + 1, carried, drawn.write(t + 1, token)

        drawn = tf.TensorArray(tf.int32, steps + 1, element_shape=[None])
        drawn = drawn.write(0, tf.zeros(batch, tf.int32))
        _, carried, drawn = loop(steps, step, (0, carried, drawn))
        return tf.transpose(drawn.stack()[1:]), limits, carried

    def trace(self, text):
        """What the memories did at each symbol of a text.

        Returns:
            `symbols` `[B, T]`; `lengths` `[B]`; `actions` `[B, T, M, A]`, their weights, which are
            0 or 1 if the model was exported with rounding; `action_names` `[B, A]`; `tops`
            `[B, T, M]`, the element of each memory that is read first, after the symbol, -1 being
            empty; `values` `[B, T, M]`, what is there to be written, both of elements of several
            numbers their mean; `memory_kind` `[B]`, the table of actions as JSON;
            `probabilities` `[B, T, V]` of the symbol after it; `vocabulary` `[B, V]`. Where there
            is padding: "", 0, -1, 0 and 0.
        """
        reader = self._reader
        tokens, lengths = self._symbols.encode(text)
        states = reader.initial_state(tf.shape(text)[0])
        records = reader.read(tokens, lengths, states, traced=True)
        hiddens, *records = (each[1:] for each in records)
        layers = len(reader.layers)
        actions = self._join_lanes(records[:layers], tf.shape(text)[0])
        tops = self._join_lanes(
            [
                _mean_of_elements(record, layer.layout.element_size)
                for layer, record in zip(reader.layers, records[layers : 2 * layers], strict=True)
            ],
            tf.shape(text)[0],
        )
        pairs = zip(reader.layers, records[2 * layers :], strict=True)
        values = tf.concat([_written(layer.cell, hidden) for layer, hidden in pairs], axis=-1)
        probabilities = softmax(reader.logits(hiddens))
        steps = tf.shape(tokens)[1]
        kind = json.dumps(reader.layers[0].layout.kind.description())
        return {
            "symbols": _padded(self._symbols.names(tokens), lengths, steps, ""),
            "lengths": lengths,
            "actions": _padded(tf.transpose(actions, [3, 0, 2, 1]), lengths, steps, 0.0),
            "action_names": tf.tile([reader.layers[0].cell.actions], [tf.shape(text)[0], 1]),
            "memory_kind": tf.tile([kind], tf.shape(text)),
            "tops": _padded(tf.transpose(tops, [2, 0, 1]), lengths, steps, EMPTY),
            "values": _padded(tf.transpose(values, [1, 0, 2]), lengths, steps, 0.0),
            "probabilities": _padded(tf.transpose(probabilities, [1, 0, 2]), lengths, steps, 0.0),
            "vocabulary": tf.tile([self._symbols.vocabulary], [tf.shape(text)[0], 1]),
        }

    def _join_lanes(self, records, batch):
        """`[…, lanes]` of each layer as `[…, M, batch]`."""
        size = [self._reader.layers[0].memories, batch]
        shapes = [tf.concat([tf.shape(record)[:-1], size], axis=0) for record in records]
        split = [tf.reshape(*pair) for pair in zip(records, shapes, strict=True)]
        return tf.concat(split, axis=-2)

    def _scored(self, tokens, lengths):
        """The logits after each number of symbols, `[1 + longest, B, V]`, and the logarithms of the
        given symbols' probabilities, `[B, T]`."""
        logits = self._reader.logits(self._read(tokens, lengths))
        given = tf.transpose(tokens)[1 : tf.shape(logits)[0] - 1]
        in_range = tf.clip_by_value(given, 0, len(self._symbols.vocabulary) - 1)
        scores = tf.gather(tf.nn.log_softmax(logits[1:-1]), in_range, batch_dims=2)
        first = tf.zeros_like(logits[1:2, :, 0])
        scores = transposed(tf.concat([first, scores], axis=0))
        return logits, _padded(scores, lengths, tf.shape(tokens)[1], 0.0)

    def _read(self, tokens, lengths):
        """Checks a request and reads its symbols.

        Returns:
            The hidden units after each number of symbols, `[1 + longest, B, units]`; after a row's
            length there is anything in them.
        """
        states = self._reader.initial_state(tf.shape(tokens)[0])
        (hiddens,) = self._reader.read(*self._checked(tokens, lengths), states)
        return hiddens

    def _read_on(self, tokens, lengths, *states):
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


def _written(cell, hidden):
    """The value that each memory is given to write, `[…, memories]`, from `[…, units]`."""
    values = tf.tensordot(hidden, cell.value_kernel, 1)
    values = tf.sigmoid(values + cell.value_bias if cell.use_bias else values)
    return _mean_of_elements(values, cell.element_size)


def _mean_of_elements(tensor, element_size):
    """Of elements of several numbers, all memories' first ones first, the mean."""
    if element_size == 1:
        return tensor
    return tf.add_n(tf.split(tensor, element_size, axis=-1)) / element_size


def _at(lengths, records):
    """Of records `[1 + longest, B, …]` those of each row's own length, `[B, …]`."""
    rows = tf.range(tf.shape(lengths)[0])
    return tf.gather_nd(records, tf.stack([lengths, rows], axis=1))


def _padded(tensor, lengths, columns, filler):
    """`[B, longest, …]` as `[B, columns, …]`, with `filler` after each row's length."""
    missing = columns - tf.shape(tensor)[1]
    extra = len(tensor.shape) - 2
    tensor = tf.pad(tensor, [[0, 0], [0, missing]] + [[0, 0]] * extra, constant_values=filler)
    counts = tf.sequence_mask(lengths, columns)
    counts = tf.reshape(counts, tf.concat([tf.shape(counts), [1] * extra], axis=0))
    return tf.where(counts, tensor, filler)


def _uniforms(seeds, limits, positions):
    """`[B, longest]` numbers between 0 and 1, row by row those of its own seed from a position on.

    They are what `tf.random.stateless_uniform` draws: a counter, scrambled, gives four of them.
    """
    steps, at_once = longest(limits), 4

    def row(seed_limit_and_position):
        seed, limit, position = seed_limit_and_position
        key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=tf.stack([seed, 0]))
        counter += tf.cast(tf.stack([position // at_once, 0]), tf.uint64)
        before = tf.cast(position % at_once, tf.int32)
        numbers = tf.raw_ops.StatelessRandomUniformV2(
            shape=[before + limit], key=key, counter=counter, alg=_PHILOX
        )
        return tf.pad(numbers[before:], [[0, steps - limit]])

    rows = (seeds, limits, positions)
    return tf.map_fn(row, rows, fn_output_signature=tf.TensorSpec([None], tf.float32))


def _draw(logits, temperatures, uniforms):
    """One token a row, where its uniform number falls among the probabilities."""
    is_drawn = temperatures > 0
    relative = logits - tf.reduce_max(logits, axis=-1, keepdims=True)
    weights = tf.exp(relative / tf.where(is_drawn, temperatures, 1.0)[:, None])
    sums = tf.cumsum(weights, axis=-1)
    below = sums <= uniforms[:, None] * sums[:, -1:]
    drawn = tf.reduce_sum(tf.cast(below, tf.int32), axis=-1)
    drawn = tf.minimum(drawn, tf.shape(logits)[1] - 1)
    return tf.where(is_drawn, drawn, tf.argmax(logits, axis=-1, output_type=tf.int32))
