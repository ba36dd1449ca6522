"""Inputs and their answers from files, as a task of transduction."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence

import numpy as np

from keras_stackrnn.tasks.files.examples import (
    SPLITS,
    Examples,
    FileTask,
    Split,
    free_symbol,
    require_one_answer,
    sizes_of,
    symbols_in,
)
from keras_stackrnn.tasks.files.parts import Parts
from keras_stackrnn.tasks.rows import end_to_end, padded
from keras_stackrnn.tasks.symbols import Symbols
from keras_stackrnn.tasks.transduction import AnswerPlaces, Pairs, Transduction

# Symbols of an answer for one of the input: halves up to twice, then whole numbers.
_RATES = ((0, 1), (1, 2), (1, 1), (3, 2), (2, 1), (3, 1), (4, 1), (6, 1), (8, 1))


@dataclasses.dataclass(frozen=True, eq=False)
class FilePairs(FileTask, Transduction):
    """Inputs and answers of files.

    Answers whose lengths follow from those of their inputs just end. Others end with a terminator,
    and what is after it does not count.
    """

    examples: Mapping[str, Examples] = dataclasses.field(default_factory=dict)
    division: str = ""

    def rows_of_texts(self, pairs):
        return super().rows_of_texts([self._filled(*pair) for pair in pairs])

    def _filled(self, given: Sequence[str], answer: Sequence[str]) -> tuple:
        if self.terminator is None:
            return given, answer
        places = self.answer_places.of(len(given))
        ends = (self.terminator,) * (places - len(answer))
        return given, (*answer, *ends), len(answer) + 1


def pairs_task(name: str, parts: Parts, split: Split) -> FilePairs:
    """The task of answering the inputs of files."""
    require_one_answer(parts, "input", "output")
    inputs = Symbols(symbols_in(parts, 0, split), f"Task {name!r}")
    outputs = symbols_in(parts, 1, split)
    examples = {
        each: Examples([tuple(tuple(split(v)) for v in row.values) for row in getattr(parts, each)])
        for each in SPLITS
    }
    learned = examples["train"].values
    places, ends = _places_of([(len(given), len(answer)) for given, answer in learned])
    for row, (given, answer) in zip(
        (*parts.train, *parts.validation, *parts.test),
        (pair for each in SPLITS for pair in examples[each].values),
        strict=True,
    ):
        _check_length(row, len(given), len(answer), places, ends)
    terminator = free_symbol(outputs) if ends else None
    task = FilePairs(
        name=name,
        inputs=inputs,
        outputs=Symbols([*outputs, *([terminator] if ends else [])], f"Task {name!r}"),
        generate_batch=_Draws(examples["train"]),
        answer_places=places,
        example=" -> ".join(inputs.separator.join(each) for each in learned[0]),
        terminator=terminator,
        examples=examples,
        division=parts.words,
        **sizes_of(examples),
    )
    task.generate_batch.encode(task)
    return task


class _Draws:
    """The pairs to learn from as arrays, some of which are taken at each call."""

    def __init__(self, examples: Examples):
        self._examples = examples

    def encode(self, task: FilePairs) -> None:
        """Makes the arrays, in the symbols of a task."""
        pairs = [task._filled(*pair) for pair in self._examples.values]
        inputs = [task.inputs.encode(given) for given, *_ in pairs]
        answers = [task.outputs.encode(answer) for _, answer, *_ in pairs]
        self._lengths = np.array([len(each) for each in inputs])
        self._inputs = padded(end_to_end(inputs), self._lengths)
        lengths = np.array([len(each) for each in answers])
        self._answers = padded(end_to_end(answers), lengths)
        self._counted = np.array([rest[0] if rest else len(a) for _, a, *rest in pairs])

    def __call__(self, sizes, keys) -> Pairs:
        chosen = self._examples.by_size.choose(sizes, keys)
        arrays = (self._inputs, self._lengths, self._answers, self._counted)
        return Pairs(*(array[chosen] for array in arrays))


def _places_of(lengths: list[tuple[int, int]]) -> tuple[AnswerPlaces, bool]:
    """How many places answers have, and whether they need an end of their own.

    Args:
        lengths: Of each pair the input's and the answer's.
    """
    for times, over in _RATES:
        more = {answer - AnswerPlaces(times, over).of(given) for given, answer in lengths}
        if len(more) == 1 and min(more) >= 0:
            return AnswerPlaces(times, over, min(more)), False
    middle = statistics.median(given for given, _ in lengths)
    for times, over in _RATES:
        rate = AnswerPlaces(times, over)
        more = {False: [0], True: [0]}
        for given, answer in lengths:
            more[given > middle].append(answer + 1 - rate.of(given))
        # A rate that is too low shows in long answers first.
        if max(more[True]) <= max(more[False]):
            break
    return rate._replace(plus=max(*more[True], *more[False])), True


def _check_length(row, given: int, answer: int, places: AnswerPlaces, ends: bool) -> None:
    most = places.of(given)
    if answer + ends > most or (answer < most and not ends):
        expected = f"at most {most - 1}" if ends else f"{most}"
        raise row.fault(
            f"an output has {expected} symbols for an input of {given}, by the rows that are "
            f"learned from, got {answer}."
        )
