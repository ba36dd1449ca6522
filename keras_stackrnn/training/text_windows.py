"""A text as windows: cut into equal lanes that are read side by side, window by window.

What a lane is, streams.py says.
"""

import numpy as np


class TextWindows:
    """Windows over a text, in its order.

    Lane i reads the i-th part of the text. Parts are whole windows long; the few tokens that this
    leaves over are at the beginning or the end of the text, others in every epoch.

    Args:
        tokens: Token ids of the text.
        first: The token that is read before the first of them.
        lanes: Number of lanes.
        window: Tokens of a lane in one window.
        seed: Decides which tokens are left over.
    """

    def __init__(self, tokens: np.ndarray, first: int, lanes: int, window: int, seed: int):
        self.windows = len(tokens) // (lanes * window)
        if self.windows == 0:
            raise ValueError(
                f"A text of {len(tokens):,} symbols is too short for {lanes} lanes with windows of "
                f"{window} symbols: expected {lanes * window:,} or more, fewer lanes, or a shorter "
                "window."
            )
        self._targets = np.asarray(tokens, np.int32)
        self._inputs = np.concatenate([[first], tokens[:-1]]).astype(np.int32)
        self._lanes = lanes
        self._window = window
        self._seed = seed

    def window(self, epoch: int, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The tokens of a window and those that follow them, both `[lanes, window]`."""
        length = self.windows * self._window
        left_over = len(self._targets) - self._lanes * length
        offset = np.random.default_rng((self._seed, epoch)).integers(left_over + 1)
        part = slice(offset, offset + self._lanes * length)
        columns = slice(number * self._window, (number + 1) * self._window)
        return tuple(
            tokens[part].reshape(self._lanes, length)[:, columns]
            for tokens in (self._inputs, self._targets)
        )
