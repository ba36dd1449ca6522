"""Is it JSON? A stack learns to nest objects and arrays, from texts that are right or wrong.

python examples/json_validity.py
"""

import json

import keras
import numpy as np

from keras_stackrnn import StackRNN

# What a text consists of; 0 is padding.
SYMBOLS = '{}[]",: 0123456789abtruenl'
LENGTH = 48


def value(random: np.random.Generator, depth: int) -> object:
    """Something that JSON can hold, nested at most so deep."""
    kind = random.integers(6 if depth else 4)
    size = random.integers(0, 4)
    if kind == 4:
        return [value(random, depth - 1) for _ in range(size)]
    if kind == 5:
        return {f"{'ab'[i % 2]}{i}": value(random, depth - 1) for i in range(size)}
    return [int(random.integers(1000)), "ab"[: size + 1], True, None][kind]


def is_json(text: str) -> bool:
    """What Python's own parser says."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def examples(random: np.random.Generator, number: int, depth: int):
    """As many texts that are JSON as texts that are not, which differ in one symbol or two."""
    texts: dict[bool, list[str]] = {True: [], False: []}
    while min(map(len, texts.values())) < number // 2:
        text = json.dumps(value(random, depth))
        if random.random() < 0.6:
            for _ in range(random.integers(1, 3)):
                place = random.integers(len(text) + 1)
                new = random.choice(["", random.choice(list('{}[]",:1'))])
                text = text[:place] + new + text[place + 1 :]
        if 0 < len(text) <= LENGTH and set(text) <= set(SYMBOLS):
            texts[is_json(text)].append(text)
    rows = [(text, label) for label, some in texts.items() for text in some[: number // 2]]
    random.shuffle(rows)
    ids = np.zeros((len(rows), LENGTH), "int32")
    for row, (text, _) in enumerate(rows):
        ids[row, : len(text)] = [1 + SYMBOLS.index(symbol) for symbol in text]
    return ids, np.array([label for _, label in rows], "int32")


def main(number: int = 16384, epochs: int = 12) -> dict[str, float]:
    """Trains on values nested twice, and tests on values nested up to four times."""
    random = np.random.default_rng(0)
    model = keras.Sequential(
        [
            keras.layers.Embedding(1 + len(SYMBOLS), 24, mask_zero=True),
            StackRNN(64, num_stacks=8, no_op=True, controller="gru"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    optimizer = keras.optimizers.Adam(0.005, clipnorm=1.0)
    model.compile(optimizer, "binary_crossentropy", metrics=["accuracy"], jit_compile=True)
    model.fit(*examples(random, number, 2), epochs=epochs, batch_size=64, verbose=2)
    scores = model.evaluate(*examples(random, 1024, 4), verbose=0, return_dict=True)
    print(f"deeper values: {scores['accuracy']:.1%} right")
    return scores


if __name__ == "__main__":
    main()
