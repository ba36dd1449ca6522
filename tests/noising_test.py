"""Tests of noise on the words that a language model reads."""

import json

import numpy as np
import pytest
from language_case import training_of
from training_case import assert_same_arrays

from keras_stackrnn.training.noising import Noising

# Some words are frequent, some rare.
TEXT = np.random.default_rng(0).choice(8, 300, p=np.array([60, 20, 8, 4, 3, 2, 2, 1]) / 100)
PAIRS = set(zip(TEXT[:-1].tolist(), TEXT[1:].tolist(), strict=True))


def share_of(noised, token):
    return np.mean(noised == token)


def test_words_are_replaced_the_more_the_less_is_known_of_them():
    noising = Noising(TEXT, 8, share=0.8, seed=0)
    found, expected = [], []
    for word in range(8):
        followers = sum(first == word for first, _ in PAIRS)
        itself = sum(second == word for _, second in PAIRS) / len(PAIRS)
        expected.append(0.8 * followers / np.sum(TEXT[:-1] == word) * (1 - itself))
        found.append(1 - share_of(noising(np.full((100, 400), word), word), word))
    np.testing.assert_allclose(found, expected, atol=0.01)
    assert min(expected) < 0.05
    assert max(expected) > 0.5


def test_what_takes_their_place_are_words_that_follow_many():
    # Nothing is ever followed by the same twice: all is replaced.
    text = np.array([0, 1, 0, 2, 0, 3, 1, 3, 2, 3])
    noised = Noising(text, 5, share=1.0, seed=0)(np.full((100, 400), 1), 0)
    found = [share_of(noised, token) for token in range(5)]
    np.testing.assert_allclose(found, np.array([2, 2, 2, 3, 0]) / 9, atol=0.01)
    assert noised.dtype == np.int64


def test_noise_follows_from_the_seed_and_the_number():
    window = np.tile(TEXT, (10, 1))
    noised = Noising(TEXT, 8, share=1.0, seed=1)(window, 7)
    np.testing.assert_array_equal(noised, Noising(TEXT, 8, share=1.0, seed=1)(window, 7))
    for other in (Noising(TEXT, 8, 1.0, seed=2)(window, 7), Noising(TEXT, 8, 1.0, 1)(window, 8)):
        assert np.any(noised != other)
    np.testing.assert_array_equal(Noising(TEXT, 8, share=0.0, seed=1)(window, 7), window)


def test_a_text_of_one_word_stays_as_it_is():
    assert Noising(np.array([0]), 1, share=1.0, seed=0)(np.array([[0]]), 0).tolist() == [[0]]


@pytest.mark.slow
@pytest.mark.usefixtures("one_block_of_steps")
def test_training_with_noise_goes_on_exactly_and_is_another_one():
    def weights_of(training):
        return training.best_model().get_weights()

    whole, plain = training_of("rnn", noising=0.5), training_of("rnn", noising=0.0)
    halfway = training_of("rnn", noising=0.5)
    while not whole.done:
        whole.advance()
        plain.advance()
    halfway.advance()
    arrays, meta = halfway.state()
    again = training_of("rnn", noising=0.5)
    again.restore(arrays, json.loads(json.dumps(meta)))
    while not again.done:
        again.advance()
    assert_same_arrays(weights_of(again), weights_of(whole))
    assert np.any(weights_of(plain)[0] != weights_of(whole)[0])
