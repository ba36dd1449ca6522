"""The signatures of a next-symbol model: what comes next, how probable a text is, what follows."""

import tensorflow as tf

from keras_stackrnn.export.reader import loop
from keras_stackrnn.export.require import require, require_none
from keras_stackrnn.export.signatures import LENGTHS, TEXT, TOKENS, Signature, Signatures
from keras_stackrnn.export.tensors import at, longest, padded, softmax, transposed

TOP_SYMBOLS = 10
# Of one text, and of all texts of a request: a small request cannot take all of a server's memory.
MAX_GENERATED = 10_000
MAX_GENERATED_TOGETHER = 1_000_000
_PHILOX = tf.random.Algorithm.PHILOX.value

_MAX_SYMBOLS = tf.TensorSpec(None, tf.int32, "max_symbols")
_TEMPERATURE = tf.TensorSpec(None, tf.float32, "temperature")
_SEED = tf.TensorSpec(None, tf.int64, "seed")
_POSITION = tf.TensorSpec(None, tf.int64, "position")


class NextSymbolSignatures(Signatures):
    """All that a next-symbol model can be asked; its answers are its vocabulary."""

    def untraced(self):
        specs = list(self._reader.state_specs.values())
        drawing = [_MAX_SYMBOLS, _TEMPERATURE, _SEED]
        tokens, text = self.request_of_tokens(), self.request_of_text()
        drawn = {
            **text,
            "max_symbols": tf.constant(self.length_of_warmup),
            "temperature": tf.constant(1.0),
            "seed": tf.constant(0, tf.int64),
        }
        position, state = tf.constant(0, tf.int64), self._reader.initial_state(1)
        return {
            "serving_default": Signature(self.predict, [TOKENS, LENGTHS], tokens),
            "predict_text": Signature(self.predict_text, [TEXT], text),
            "score": Signature(self.score, [TOKENS, LENGTHS], tokens),
            "generate": Signature(self.generate, [TEXT, *drawing], drawn),
            "generate_on": Signature(
                self.generate_on,
                [TEXT, *drawing, _POSITION, *specs],
                {**drawn, "position": position, **state},
            ),
            **super().untraced(),
        }

    def predict(self, tokens, lengths):
        """The symbol after each sequence.

        Returns:
            `probabilities` `[B, V]` and `next_token` `[B]`, the most probable; of an empty
            sequence those that the output's bias alone gives. `log_likelihood` `[B]`: the sum of
            log p(symbol t | symbols before t) over t >= 1, as nothing predicts the first symbol.
        """
        logits, log_probabilities = self._scored(tokens, lengths)
        probabilities = softmax(at(lengths, logits))
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
        hidden = at(lengths, self._read(tokens, lengths))
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
            "predictions": padded(predictions, lengths, tf.shape(tokens)[1], -1),
        }

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
            "symbols": padded(self._symbols.names(drawn), limits, steps, ""),
            "written": padded(self._symbols.written(drawn, positions), limits, steps, ""),
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

    def _scored(self, tokens, lengths):
        """The logits after each number of symbols, `[1 + longest, B, V]`, and the logarithms of the
        given symbols' probabilities, `[B, T]`."""
        logits = self._reader.logits(self._read(tokens, lengths))
        given = tf.transpose(tokens)[1 : tf.shape(logits)[0] - 1]
        in_range = tf.clip_by_value(given, 0, len(self._symbols.vocabulary) - 1)
        scores = tf.gather(tf.nn.log_softmax(logits[1:-1]), in_range, batch_dims=2)
        first = tf.zeros_like(logits[1:2, :, 0])
        scores = transposed(tf.concat([first, scores], axis=0))
        return logits, padded(scores, lengths, tf.shape(tokens)[1], 0.0)


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
