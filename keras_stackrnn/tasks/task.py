"""What a task is: sequences of any size to read, what is asked of whoever reads them, what counts.

There are three forms, a file each: next symbol (`pattern.py`: what comes after each symbol),
transduction (`transduction.py`: an input, then its answer) and recognition (`recognition.py`: a
label for a string). Whoever trains, evaluates, traces or exports asks the task and never its form.
"""

import abc
import copy
from typing import ClassVar, NamedTuple, Self

import numpy as np

from keras_stackrnn.tasks.draws import draw_key, scale
from keras_stackrnn.tasks.rows import Rows
from keras_stackrnn.tasks.symbols import Symbols


class Lesson(NamedTuple):
    """Sequences of sizes up to `largest` and with the task's limit, if it has one."""

    largest: int
    limit: int | None = None


class Exercise(NamedTuple):
    """A text to read and the symbols of its answer; `None` if the text itself is all there is."""

    text: str
    answer: list[str] | None


class Task(abc.ABC):
    """Sequences of every size, for training and for the test.

    Every sequence follows from its size and a key of 64 bits, so that any can be had without those
    before it, and batches are made by arithmetic on arrays.

    Attributes:
        name: How it is called everywhere, as in `"anbn"` or `"chomsky/parity_check"`.
        form: Which form it has, the name of the models that learn it.
        inputs: The `Symbols` that its sequences are written in.
        outputs: The `Symbols` of the answers.
        marks: Names of what a model reads beside `inputs` and nobody writes, as the place where an
            answer is asked; their token ids follow those of `inputs`.
        train_sizes: The sizes to learn from and to validate on.
        test_sizes: The sizes of the test.
        far_sizes: Further sizes that are tested with rounded actions.
        size_means: What the size counts, in a few words.
        flows: Whether sequences follow one another without the memory being emptied.
        scores: Names of what is reported for each size (`evaluation.py`), the one that counts
            first.
        example: What a sequence looks like, in a line.
        division: Of a task whose sequences were divided into those to learn from, to validate on
            and to test, how that was done.
        fingerprint: What tells a finite set from others of the same name.
    """

    form: ClassVar[str]
    marks: ClassVar[tuple[str, ...]] = ()
    scores: ClassVar[tuple[str, ...]] = ("sequences", "symbols")
    # How many sequences of each size the test has.
    test_sequences: ClassVar[int] = 200
    # What else than the size can be held small, so that easy sequences can be learned first.
    limit_means: str | None = None
    far_sizes: tuple[int, ...] = ()
    division: str = ""
    fingerprint: str | None = None
    _refuses_the_test = False

    name: str
    inputs: Symbols
    outputs: Symbols
    train_sizes: range
    test_sizes: range
    size_means: str
    flows: bool
    example: str

    @property
    def several_valid(self) -> bool:
        """Whether `valid_next` says which answers may come."""
        return "valid next symbols" in self.scores

    @property
    def symbols(self) -> int:
        """How many different token ids are read."""
        return len(self.inputs) + len(self.marks)

    @abc.abstractmethod
    def rows(self, sizes: np.ndarray, keys: np.ndarray, limits: np.ndarray | None = None) -> Rows:
        """Sequences to learn from, one for each size and key: see `Rows` for what is in them.

        Args:
            sizes: int64 [N], each one that the task has.
            keys: uint64 [N]; the same size and key give the same sequence, always and everywhere.
            limits: int64 [N], how much of `limit_means` there may be; only where that is said.

        Returns:
            `Rows`, in that order: row i is `lengths[i]` places long, T is the longest of them.
        """

    @abc.abstractmethod
    def places(self, size: int) -> int:
        """How many places a sequence of a size has at most: no row of it is longer."""

    def samples(self, split: str, size: int, count: int, first: int = 0) -> Rows:
        """The sequences `first` to `first + count` - 1 of a size in a split (`"train"`,
        `"validation"` or `"test"`): the same ones always. Some may be equal; a finite set has no
        more than it has.
        """
        self.check_split(split)
        indices = range(first, first + count)
        keys = [draw_key(self.name, split, size, index) for index in indices]
        return self.rows(np.full(count, size), np.array(keys, np.uint64))

    @abc.abstractmethod
    def lines(self, rows: Rows) -> list[str]:
        """Each row in a line, as people read it, in the way of `example`."""

    def as_read(self, size: int) -> str:
        """What a model reads of a sequence that is not the test's, as a person writes it. The
        sequence has that size or, where there is none, the next one that there is."""
        for n in range(size, self.train_sizes[-1] + 1):
            rows = self.samples("validation", n, 1)
            if len(rows.lengths):
                tokens = rows.tokens[0, : rows.lengths[0]]
                return self.inputs.decode(tokens[tokens < len(self.inputs)])
        raise ValueError(f"Task {self.name!r} has no sequence of size {size} or more to show.")

    def exercises(self, rows: Rows) -> list[Exercise]:
        """What a user writes of each row, and the answer to it."""
        exercises = []
        for tokens, targets, _, scored, length in zip(*rows, strict=True):
            written = [token for token in tokens[:length] if token < len(self.inputs)]
            answer = [self.outputs[token] for token in targets[scored]]
            exercises.append(Exercise(self.inputs.decode(written), answer))
        return exercises

    def draw_sizes(self, numbers: np.ndarray, largest: np.ndarray | int) -> np.ndarray:
        """A size up to `largest` for each random number (uint64 of any shape), all as likely."""
        smallest = self.train_sizes[0]
        return smallest + scale(numbers, np.subtract(largest, smallest) + 1)

    def lessons(self, first: int, largest: int) -> list[Lesson]:
        """The lessons of a search, from small sizes to `largest`: the size grows by one from each
        to the next. `first` is the largest size of the first one.

        What else can be limited stays at 1 until the size is half of `largest`, and then grows
        along. Numbers are thus first added to a single digit, however long they are: a carry that
        runs through one operand has to be right before two have to be brought together.
        """
        first = min(max(first, self.train_sizes[0]), largest)
        every_size = range(first, largest + 1)
        if self.limit_means is None:
            return [Lesson(size) for size in every_size]
        return [Lesson(size, max(1, size - largest // 2)) for size in every_size]

    def for_search(self) -> Self:
        """The same task without its test: it refuses sizes beyond `train_sizes` and the split
        `"test"`. A search is handed this and nothing else."""
        same = copy.copy(self)
        # Forms may be frozen dataclasses.
        object.__setattr__(same, "_refuses_the_test", True)
        return same

    def check_sizes(self, sizes: np.ndarray) -> None:
        """Raises if there is no sequence of one of these sizes."""
        sizes = np.asarray(sizes)
        if sizes.size:
            self.check_size(int(sizes.min()))
            self.check_size(int(sizes.max()))

    def check_size(self, size: int) -> None:
        """Raises if there is no sequence of that size."""
        smallest = min(self.train_sizes[0], self.test_sizes[0])
        if size < smallest:
            raise ValueError(
                f"Task {self.name!r} begins at size {smallest} ({self.size_means}), got {size}."
            )
        self._check_not_tested(size)

    def check_split(self, split: str) -> None:
        """Raises if there is no such split, or it is not to be seen."""
        if split not in ("train", "validation", "test"):
            raise ValueError(f"A split is train, validation or test, got {split!r}.")
        if split == "test" and self._refuses_the_test:
            raise ValueError("The test sequences cannot be trained or validated on.")

    def _check_not_tested(self, size: int) -> None:
        last = self.train_sizes[-1]
        if self._refuses_the_test and size > last:
            raise ValueError(
                f"n from {last + 1} up is for tests and cannot be trained or validated on, "
                f"got {size}."
            )

    def valid_next(self, rows: Rows) -> np.ndarray | None:
        """bool [N, T, outputs]: the answers that may come at each place; `None` if nobody knows."""
        return None

    def information(self, rows: Rows) -> np.ndarray | None:
        """float [N]: what each row's targets are worth in nats, -log of the probability that the
        task writes them for their size. No model's cross-entropy is below its mean; `None` if
        nobody knows."""
        return None

    def learned(self, count: int) -> Rows | None:
        """Of a finite set, up to so many of the sequences that are learned from; `None` if there
        are always new ones. Who is right on these alone has learned them by heart."""
        return None

    def validated(self, right: np.ndarray, entropy: np.ndarray) -> np.ndarray:
        """What a search goes by, from 0 to 1, where 1 is solved.

        Args:
            right: The share of the validation sequences that are right, of each of some models.
            entropy: The mean entropy of their scored symbols, in nats.
        """
        return right

    def of_model(self) -> dict:
        """What a model has to know of the task beside its size: arguments of the model's class,
        fit for JSON."""
        return {"vocabulary": [*self.inputs, *self.marks], "task": self.name}
