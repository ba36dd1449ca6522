"""Strings and their labels from files, as a task of recognition."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from keras_stackrnn.tasks.files.examples import (
    SPLITS,
    Examples,
    FileTask,
    Split,
    require_one_answer,
    sizes_of,
    symbols_in,
)
from keras_stackrnn.tasks.files.parts import Parts
from keras_stackrnn.tasks.recognition import Labelled, Recognition
from keras_stackrnn.tasks.rows import end_to_end, padded
from keras_stackrnn.tasks.symbols import Symbols


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledStrings(FileTask, Recognition):
    """Labelled strings of files."""

    examples: Mapping[str, Examples] = dataclasses.field(default_factory=dict)
    division: str = ""


def labelled_task(name: str, parts: Parts, split: Split) -> LabelledStrings:
    """The task of labelling the strings of files."""
    require_one_answer(parts, "string", "label")
    inputs = Symbols(symbols_in(parts, 0, split), f"Task {name!r}")
    labels = tuple(symbols_in(parts, 1, lambda label: (label,)))
    file = parts.train[0].file
    if len(labels) == 1:
        raise ValueError(
            f"{file} has the label {labels[0]!r} alone: expected strings with two or more labels."
        )
    examples = {
        each: Examples(
            [(tuple(split(row.values[0])), row.values[1]) for row in getattr(parts, each)]
        )
        for each in SPLITS
    }
    learned = examples["train"]
    strings = [inputs.encode(string) for string, _ in learned.values]
    lengths = np.array([len(string) for string in strings])
    tokens = padded(end_to_end(strings), lengths)
    label_ids = np.array([labels.index(label) for _, label in learned.values])

    def draw(sizes, keys):
        chosen = learned.by_size.choose(sizes, keys)
        return Labelled(tokens[chosen], lengths[chosen], label_ids[chosen])

    string, label = learned.values[0]
    return LabelledStrings(
        name=name,
        inputs=inputs,
        labels=labels,
        generate_batch=draw,
        example=f"{inputs.separator.join(string)} {label}",
        examples=examples,
        division=parts.words,
        **sizes_of(examples),
    )
