"""A classifier with masks: are the brackets of a string balanced? Strings of any length, padded.

python examples/brackets.py
"""

import keras
import numpy as np

from keras_stackrnn import StackRNN

BRACKETS = {"(": ")", "[": "]", "{": "}"}
SYMBOLS = "".join(BRACKETS) + "".join(BRACKETS.values())


def balanced(random: np.random.Generator, pairs: int) -> str:
    """A string of so many pairs."""
    text, open_ones = "", []
    while len(text) < 2 * pairs:
        may_open = len(text) + len(open_ones) < 2 * pairs
        if may_open and (not open_ones or random.random() < 0.5):
            open_ones.append(random.choice(list(BRACKETS)))
            text += open_ones[-1]
        else:
            text += BRACKETS[open_ones.pop()]
    return text


def examples(random: np.random.Generator, number: int, pairs: range):
    """Strings, half of them with one bracket changed, as padded ids, and their labels."""
    texts = [balanced(random, random.choice(pairs)) for _ in range(number)]
    labels = np.arange(number) % 2
    for row in np.flatnonzero(labels == 0):
        place = random.integers(len(texts[row]))
        other = random.choice([symbol for symbol in SYMBOLS if symbol != texts[row][place]])
        texts[row] = texts[row][:place] + other + texts[row][place + 1 :]
    ids = np.zeros((number, 2 * max(pairs)), "int32")  # 0 is padding, which Embedding masks
    for row, text in enumerate(texts):
        ids[row, : len(text)] = [1 + SYMBOLS.index(symbol) for symbol in text]
    return ids, labels


def main(number: int = 8192, epochs: int = 40) -> dict[str, float]:
    """Trains on up to 10 pairs of brackets, and tests on 10 to 20."""
    random = np.random.default_rng(0)
    model = keras.Sequential(
        [
            keras.layers.Embedding(1 + len(SYMBOLS), 16, mask_zero=True),
            StackRNN(40, num_stacks=6, no_op=True),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    optimizer = keras.optimizers.Adam(0.01, clipnorm=1.0)
    model.compile(optimizer, "binary_crossentropy", metrics=["accuracy"], jit_compile=True)
    model.fit(*examples(random, number, range(1, 11)), epochs=epochs, batch_size=64, verbose=2)
    scores = model.evaluate(*examples(random, 512, range(10, 21)), verbose=0, return_dict=True)
    print(f"longer strings: {scores['accuracy']:.1%} right")
    return scores


if __name__ == "__main__":
    main()
