"""A language model of characters in plain Keras, and a few lines of what it makes up.

python examples/language_model.py

It learns from the sources of this folder. `keras-stackrnn train --task=text --train_file=FILE` does
more of it: the state carried on, perplexities, checkpoints, and a server's model.
"""

from pathlib import Path

import keras
import numpy as np

from keras_stackrnn import StackRNN

WINDOW = 64


def main(epochs: int = 30, units: int = 128, length: int = 300) -> str:
    """Trains, and writes so many characters."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    characters = sorted(set(text))
    ids = np.array([characters.index(character) for character in text], "int32")
    windows = np.lib.stride_tricks.sliding_window_view(ids, WINDOW + 1)[:: WINDOW // 2]

    model = keras.Sequential(
        [
            keras.layers.Embedding(len(characters), 32),
            StackRNN(units, num_stacks=10, return_sequences=True),
            keras.layers.Dense(len(characters)),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.005, clipnorm=1.0), loss, jit_compile=True)
    model.fit(windows[:, :-1], windows[:, 1:], epochs=epochs, batch_size=32, verbose=2)

    random, written = np.random.default_rng(0), list(ids[:WINDOW])
    for _ in range(length):
        logits = np.asarray(model(np.array([written[-WINDOW:]]))[0, -1], "float64")
        weights = np.exp((logits - logits.max()) / 0.7)
        written.append(int(random.choice(len(characters), p=weights / weights.sum())))
    made_up = "".join(characters[each] for each in written[WINDOW:])
    print(made_up)
    return made_up


if __name__ == "__main__":
    main()
