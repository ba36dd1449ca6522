"""Many short sequences in one row, without padding: `resets` says where each begins.

python examples/packed_rows.py

Two ways to read the same sequences: one a row, padded and masked; and packed into long rows. The
outputs at their ends are the same, and the packed ones take fewer steps.
"""

import numpy as np

from keras_stackrnn import StackRNN


def main(sequences: int = 256, row: int = 128) -> float:
    """Returns the largest difference between the two."""
    random = np.random.default_rng(0)
    lengths = random.integers(3, 20, sequences)
    texts = [random.standard_normal((length, 8)).astype("float32") for length in lengths]
    layer = StackRNN(32, num_stacks=4, return_sequences=True)

    padded = np.zeros((sequences, max(lengths), 8), "float32")
    for number, text in enumerate(texts):
        padded[number, : len(text)] = text
    mask = np.arange(max(lengths)) < lengths[:, None]
    last_of_padded = np.asarray(layer(padded, mask=mask))[np.arange(sequences), lengths - 1]

    # Rows are filled one after the other; what does not fit begins the next one.
    places, begins, rows = [], 0, 0
    for length in lengths:
        if begins + length > row:
            rows, begins = rows + 1, 0
        places.append((rows, begins))
        begins += length
    packed = np.zeros((rows + 1, row, 8), "float32")
    resets = np.zeros((rows + 1, row), bool)
    for (number, begin), text in zip(places, texts, strict=True):
        packed[number, begin : begin + len(text)] = text
        resets[number, begin] = True
    outputs = np.asarray(layer(packed, resets=resets))
    last_of_packed = [
        outputs[number, begin + length - 1]
        for (number, begin), length in zip(places, lengths, strict=True)
    ]

    difference = float(np.abs(last_of_padded - np.array(last_of_packed)).max())
    print(f"{padded[..., 0].size:,} steps padded, {packed[..., 0].size:,} packed")
    print(f"largest difference: {difference:.1e}")
    return difference


if __name__ == "__main__":
    main()
