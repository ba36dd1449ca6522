"""An encoder and a decoder: the memory that one has filled is handed to the other.

python examples/encoder_decoder.py

The encoder reads a word; the decoder begins with the encoder's last states and says it backwards.
"""

import keras
import numpy as np

from keras_stackrnn import StackRNN

LETTERS = 6
BEGIN = LETTERS  # what the decoder reads first


def examples(random: np.random.Generator, number: int, length: int):
    """Words, what the decoder reads, and what it has to say."""
    words = random.integers(0, LETTERS, (number, length))
    answers = words[:, ::-1]
    read = np.concatenate([np.full((number, 1), BEGIN), answers[:, :-1]], axis=1)
    return [words, read], answers


def build() -> keras.Model:
    """Two layers of the same shape; a memory is a state like any other."""
    word = keras.Input((None,), dtype="int32")
    read = keras.Input((None,), dtype="int32")
    embedding = keras.layers.Embedding(LETTERS + 1, 16)
    # A state that passes from layer to layer inside a compiled model has a fixed size.
    options = {"num_stacks": 4, "capacity": 32}
    _, *states = StackRNN(40, return_state=True, **options)(embedding(word))
    decoder = StackRNN(40, return_sequences=True, **options)
    hidden = decoder(embedding(read), initial_state=states)
    return keras.Model([word, read], keras.layers.Dense(LETTERS, activation="softmax")(hidden))


def main(number: int = 4096, epochs: int = 20) -> dict[str, float]:
    """Trains on words of 8 letters, and tests on words of 12."""
    random = np.random.default_rng(0)
    model = build()
    optimizer = keras.optimizers.Adam(0.01, clipnorm=1.0)
    loss = "sparse_categorical_crossentropy"
    model.compile(optimizer, loss, metrics=["accuracy"], jit_compile=True)
    model.fit(*examples(random, number, 8), epochs=epochs, batch_size=64, verbose=2)
    scores = model.evaluate(*examples(random, 512, 12), verbose=0, return_dict=True)
    print(f"longer words: {scores['accuracy']:.1%} of the letters right")
    return scores


if __name__ == "__main__":
    main()
