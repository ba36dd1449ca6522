"""What the tasks of the suite share: sizes, test, score, and how they become known.

Their form is that of Delétang et al., Neural Networks and the Chomsky Hierarchy (2023): lengths 1
to 40 to learn from, 512 sequences of every length from 41 to 500 for the test, and the share of
symbols that are right.
"""

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from keras_stackrnn.tasks import registry
from keras_stackrnn.tasks.strings import Strings
from keras_stackrnn.tasks.transduction import Pairs, Transduction

TRAIN_SIZES = range(1, 41)
TEST_SIZES = range(41, 501)
TEST_SEQUENCES = 512
# How many answer places there are, for every number of input symbols: (times, over, plus).
ONE_ANSWER = (0, 1, 1)


class ChomskyTask(Transduction):
    """A task of the suite, scored by symbols."""

    scores: ClassVar[tuple[str, ...]] = ("symbols", "sequences")
    test_sequences: ClassVar[int] = TEST_SEQUENCES


def chomsky(inputs: str, outputs: str, **properties) -> Callable:
    """Decorator that makes a function of sizes and keys the task `chomsky/<its name>`."""

    def decorate(generate: Callable[[np.ndarray, np.ndarray], Pairs]):
        registry.add(
            ChomskyTask(
                name=f"chomsky/{generate.__name__}",
                inputs=inputs,
                outputs=outputs,
                train_sizes=TRAIN_SIZES,
                test_sizes=TEST_SIZES,
                generate_batch=generate,
                size_means="length of the input",
                **properties,
            )
        )
        return generate

    return decorate


def pairs(inputs: Strings, answers: Strings, counted: np.ndarray | None = None) -> Pairs:
    """Inputs and their answers; of an answer all symbols count, or its first `counted`."""
    return Pairs(inputs.tokens, inputs.lengths, answers.tokens, counted)
