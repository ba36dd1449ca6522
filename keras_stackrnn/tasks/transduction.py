"""Transduction: a task that asks for an answer to an input, once all of it has been read.

A model reads the input, then as many computation places as the task grants, then a place for each
symbol of the answer, where it says that symbol. Nothing that it says is fed back to it.
"""

import dataclasses
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from keras_stackrnn.tasks import registry
from keras_stackrnn.tasks.draws import Draw
from keras_stackrnn.tasks.rows import Rows, end_to_end, mask, padded
from keras_stackrnn.tasks.symbols import Symbols
from keras_stackrnn.tasks.task import Task

ANSWER, COMPUTE = "<answer>", "<compute>"


class AnswerPlaces(NamedTuple):
    """How many places an answer has, for an input of n symbols: ceil(times * n / over) + plus.

    It is a rule, so that a served model knows it, too.
    """

    times: int = 1
    over: int = 1
    plus: int = 0

    def of(self, lengths):
        """The number for a length, or an array of them."""
        return -(-self.times * lengths // self.over) + self.plus


AS_MANY = AnswerPlaces()


class Pairs(NamedTuple):
    """Inputs and their answers, one a row.

    Attributes:
        inputs: int [N, L], token ids of the input alphabet; what follows a row's length is padding.
        input_lengths: int [N].
        answers: int [N, M], token ids of the output alphabet, as many as `AnswerPlaces` says.
        counted: int [N], how many of an answer's first symbols count; `None`: all.
    """

    inputs: np.ndarray
    input_lengths: np.ndarray
    answers: np.ndarray
    counted: np.ndarray | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Transduction(Task):
    """A task of inputs and answers.

    Args:
        name: Its name.
        inputs: The alphabet of the inputs.
        outputs: That of the answers.
        train_sizes: The sizes to learn from; a size is the input's length unless `size_means` says
            otherwise.
        test_sizes: The sizes to test.
        generate: Function of `(size, draw)`, a `Draw`, that returns an input and its answer, both
            texts or lists of symbols; optionally, as a third, how many symbols of the answer count.
        generate_batch: The same for arrays: `(sizes, keys)` to `Pairs`. One of the two is needed.
        answer_places: How many places an answer has, by the input's length.
        size_means: What the size counts.
        longest_input: Function of a size: no input of it is longer; the size itself by default.
        computation: c: the model gets c * n computation places between an input of n symbols and
            its answer.
        example: An input and its answer.
    """

    form: ClassVar[str] = "transduction"
    flows: ClassVar[bool] = False

    name: str
    inputs: Symbols
    outputs: Symbols
    train_sizes: range
    test_sizes: range
    generate: Callable[..., tuple] | None = None
    generate_batch: Callable[[np.ndarray, np.ndarray], Pairs] | None = None
    answer_places: AnswerPlaces = AS_MANY
    size_means: str = "symbols of the input"
    longest_input: Callable[[int], int] = int
    computation: int = 0
    example: str = ""
    # The symbol that ends an answer; what is after it does not count. `None`: answers just end.
    terminator: str | None = None

    def __post_init__(self):
        for name in ("inputs", "outputs"):
            symbols = Symbols.written(getattr(self, name), f"Task {self.name!r}")
            object.__setattr__(self, name, symbols)
        object.__setattr__(self, "answer_places", AnswerPlaces(*self.answer_places))
        if (self.generate is None) == (self.generate_batch is None):
            raise ValueError(f"Task {self.name!r} needs either generate or generate_batch.")

    @property
    def marks(self) -> tuple[str, ...]:
        return (ANSWER, COMPUTE) if self.computation else (ANSWER,)

    def places(self, size: int) -> int:
        length = self.longest_input(size)
        return length * (1 + self.computation) + self.answer_places.of(length)

    def rows(self, sizes, keys, limits=None) -> Rows:
        self.check_sizes(sizes)
        if self.generate_batch is not None:
            return self._rows_of(self.generate_batch(sizes, keys))
        drawn = [
            self.generate(size, Draw(key))
            for size, key in zip(sizes.tolist(), keys.tolist(), strict=True)
        ]
        return self.rows_of_texts(drawn)

    def rows_of_texts(self, pairs) -> Rows:
        """Rows of inputs and answers in symbols, and how many of these count if that is said."""
        inputs = [self.inputs.encode(given) for given, *_ in pairs]
        answers = [self.outputs.encode(answer) for _, answer, *_ in pairs]
        lengths = np.array([len(each) for each in inputs], np.int64)
        wanted = self.answer_places.of(lengths)
        for (text, answer, *_), ids, places in zip(pairs, answers, wanted, strict=True):
            if len(ids) != places:
                raise ValueError(
                    f"Task {self.name!r} has {places} answer places for an input as long as "
                    f"{text!r}, got {answer!r}: answer_places says how many."
                )
        counted = zip(pairs, answers, strict=True)
        counts = [rest[0] if rest else len(ids) for (_, _, *rest), ids in counted]
        return self._rows_of(
            Pairs(
                padded(end_to_end(inputs), lengths),
                lengths,
                padded(end_to_end(answers), wanted),
                np.array(counts, np.int64),
            )
        )

    def _rows_of(self, pairs: Pairs) -> Rows:
        lengths = np.asarray(pairs.input_lengths, np.int64)
        answers = self.answer_places.of(lengths)
        begin = lengths * (1 + self.computation)
        total = begin + answers
        place = np.arange(int(total.max(initial=0)))
        answer_mark, compute_mark = len(self.inputs), len(self.inputs) + 1

        asked = (place >= begin[:, None]) & (place < total[:, None])
        tokens = np.where(asked, answer_mark, 0).astype(np.int32)
        tokens[(place >= lengths[:, None]) & (place < begin[:, None])] = compute_mark
        reads = mask(lengths, len(place))
        tokens[reads] = pairs.inputs[mask(lengths, pairs.inputs.shape[1])]
        targets = np.zeros_like(tokens)
        targets[asked] = pairs.answers[mask(answers, pairs.answers.shape[1])]
        counted = answers if pairs.counted is None else np.asarray(pairs.counted)
        scored = asked & (place < (begin + counted)[:, None])
        return Rows(tokens, targets, asked, scored, total)

    def lines(self, rows: Rows) -> list[str]:
        lines = []
        for tokens, targets, asked, _, length in zip(*rows, strict=True):
            answer = self.outputs.decode(targets[:length][asked[:length]])
            read = tokens[:length][tokens[:length] < len(self.inputs)]
            lines.append(f"{self.inputs.decode(read)} -> {answer}")
        return lines

    def of_model(self) -> dict:
        return {
            **super().of_model(),
            "outputs": list(self.outputs),
            "answer_places": list(self.answer_places),
            "computation": self.computation,
            "terminator": self.terminator,
        }


def transduction(name: str, **properties):
    """Decorator that makes a function of `(size, draw)` a task of inputs and answers.

    Args:
        name: The task's name.
        **properties: The others of a `Transduction`: `inputs`, `outputs`, and, where it differs,
            `train_sizes` (1 to 40), `test_sizes` (41 to 500), `answer_places`, …

    Example:

    >>> @transduction("shout", inputs="ab", outputs="AB")
    ... def shout(size, draw):
    ...     word = "".join(draw.choice("ab") for _ in range(size))
    ...     return word, word.upper()
    """

    def decorate(generate: Callable[..., tuple]):
        usual = {"train_sizes": range(1, 41), "test_sizes": range(41, 501)}
        registry.add(Transduction(name=name, generate=generate, **{**usual, **properties}))
        return generate

    return decorate
