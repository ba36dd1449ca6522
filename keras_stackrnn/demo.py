"""A Stack RNN learns to count: `python -m keras_stackrnn.demo`, about a minute on two cores.

Trains `keras.layers.RNN(StackCell(...))` with plain `model.fit` to predict the next symbol of
sequences a^n b^n, n up to 19, written one after the other; then shows its predictions for n = 30.
Once the first b is read, whoever counted the a's can predict the rest, and the a that follows.

Not every random start learns it. One that still errs on lengths it was trained on is given up for
the next; longer sequences have no part in that choice.
"""

from typing import NamedTuple

import keras
import numpy as np

from keras_stackrnn import StackCell, patterns
from keras_stackrnn.training.streams import Stream

PATTERN = patterns.get("anbn")
UNSEEN_N = 30
LONGEST_N = 60
# n grows with the epochs: the rule is easiest to find in short sequences.
LARGEST_N_OF_EPOCH = (3, 7, 11, 15, 19, 19)
STEPS_PER_EPOCH = 100
BATCH_SIZE = 16
WINDOW = 50
SEEDS = (1, 2, 3, 4, 5)


class Answers(NamedTuple):
    """What a model predicted on sequences, one a row: token ids and masks, [rows, symbols].

    Attributes:
        read: The symbols, in the order the model read them.
        upcoming: The symbol after each of them.
        predicted: What the model expected there.
        predictable: Whether the rule tells that symbol.
    """

    read: np.ndarray
    upcoming: np.ndarray
    predicted: np.ndarray
    predictable: np.ndarray

    def right(self) -> np.ndarray:
        return self.predicted == self.upcoming

    def share_right(self) -> float:
        """The share of the predictable symbols that were predicted."""
        return float(self.right()[self.predictable].mean())

    def sequences_right(self) -> int:
        """How many sequences had all their predictable symbols predicted."""
        return int((self.right() | ~self.predictable).all(axis=1).sum())


def build_model(units: int = 20, num_stacks: int = 4) -> keras.Model:
    initializers = {
        f"{kernel}_initializer": keras.initializers.RandomNormal(stddev=1.0)
        for kernel in ("kernel", "memory", "action", "push")
    }
    cell = StackCell(
        units,
        num_stacks=num_stacks,
        use_recurrent_kernel=False,  # the stacks are all that it can count with
        rounding=True,
        **initializers,
    )
    symbols = len(PATTERN.alphabet)
    model = keras.Sequential(
        [
            keras.Input((None, symbols)),
            keras.layers.RNN(cell, return_sequences=True),
            keras.layers.Dense(symbols, activation="softmax"),
        ]
    )
    model.compile(
        keras.optimizers.Adam(learning_rate=0.03, clipnorm=1.0),
        "sparse_categorical_crossentropy",
        jit_compile=True,
    )
    return model


def training_windows(count: int, largest_n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, one-hot, and the symbols to predict: windows that begin where a sequence does."""
    stream = Stream(PATTERN, lanes=count, window=WINDOW, seed=seed, n_range=(1, largest_n))
    windows = stream.next_windows()
    return one_hot(windows.tokens[0]), windows.targets[0]


def one_hot(tokens: np.ndarray) -> np.ndarray:
    return np.eye(len(PATTERN.alphabet), dtype="float32")[tokens]


def train(model: keras.Model, seed: int, largest_n_of_epoch=LARGEST_N_OF_EPOCH) -> None:
    for epoch, largest_n in enumerate(largest_n_of_epoch):
        inputs, targets = training_windows(
            STEPS_PER_EPOCH * BATCH_SIZE, largest_n, seed * len(largest_n_of_epoch) + epoch
        )
        history = model.fit(inputs, targets, batch_size=BATCH_SIZE, verbose=0).history
        print(
            f"  epoch {epoch + 1} of {len(largest_n_of_epoch)}, n up to {largest_n:2}: "
            f"loss {history['loss'][0]:.3f}",
            flush=True,
        )


def ask(model: keras.Model, lengths: list[int]) -> Answers:
    """Lets a model read the sequence of each n, up to the first symbol of another one."""
    joined = [PATTERN.join([PATTERN.sample(n, "test", 0)] * 2) for n in lengths]
    size = 2 * max(lengths)
    tokens, predictable = (np.zeros((len(lengths), size + 1), t) for t in ("int32", "bool"))
    for row, (n, sequences) in enumerate(zip(lengths, joined, strict=True)):
        used = slice(0, 2 * n + 1)
        tokens[row, used] = sequences.tokens[used]
        predictable[row, used] = sequences.deterministic[used]
    read, upcoming = tokens[:, :-1], tokens[:, 1:]
    probabilities = keras.ops.convert_to_numpy(model(one_hot(read)))
    return Answers(read, upcoming, probabilities.argmax(axis=-1), predictable[:, 1:])


def picture(answers: Answers, row: int = 0) -> str:
    """A sequence and its predictions, one column a symbol read."""
    verdicts = np.where(answers.right()[row], "+", "x")
    lines = {
        "read": PATTERN.decode(answers.read[row]),
        "next": PATTERN.decode(answers.upcoming[row]),
        "predicted": PATTERN.decode(answers.predicted[row]),
        "": "".join(np.where(answers.predictable[row], verdicts, ".")),
    }
    return "\n".join(f"{name:>10}  {line}" for name, line in lines.items())


def learn(seeds=SEEDS, largest_n_of_epoch=LARGEST_N_OF_EPOCH) -> keras.Model:
    """The first model that makes no mistake on the lengths it was trained on, else the last."""
    known_lengths = list(range(1, max(largest_n_of_epoch) + 1))
    for attempt, seed in enumerate(seeds, start=1):
        print(f"Random start {attempt} of at most {len(seeds)} (compiles first):", flush=True)
        keras.utils.set_random_seed(seed)
        model = build_model()
        train(model, seed, largest_n_of_epoch)
        correct = ask(model, known_lengths).sequences_right()
        print(f"  n = 1…{known_lengths[-1]}: {correct} of {len(known_lengths)} sequences right")
        if correct == len(known_lengths):
            break
    return model


def main() -> None:
    print(f"A Stack RNN learns a^n b^n from n = 1…{max(LARGEST_N_OF_EPOCH)}.\n", flush=True)
    model = learn()

    unseen = ask(model, [UNSEEN_N])
    print(f"\nNow n = {UNSEEN_N}, longer than all it has seen. One column a symbol;")
    print("+ predicted, x not, . cannot be predicted:\n")
    print(picture(unseen))
    print(f"\n{unseen.share_right():.0%} of the predictable symbols are right.")
    longer = list(range(max(LARGEST_N_OF_EPOCH) + 1, LONGEST_N + 1))
    correct = ask(model, longer).sequences_right()
    print(f"n = {longer[0]}…{longer[-1]}: {correct} of {len(longer)} sequences wholly right.")


if __name__ == "__main__":
    main()
