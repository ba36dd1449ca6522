"""Tests of the n-grams against a slow reference that is written from the definition."""

import collections
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_case import raises_only, run_python

from keras_stackrnn.ngram import Cache, KneserNey

texts = st.lists(st.integers(0, 4), min_size=1, max_size=60)
orders = st.integers(1, 5)
V = 6  # one token more than the texts have


def reference(tokens, order):
    """p(word | history) of interpolated modified Kneser-Ney, with dictionaries."""
    grams = {
        k: [tuple(tokens[i : i + k]) for i in range(len(tokens) - k + 1)]
        for k in range(1, order + 1)
    }
    counts = {order: collections.Counter(grams[order])}
    for k in range(1, order):
        counts[k] = collections.Counter(gram[1:] for gram in set(grams[k + 1]))
        # The text's own first k words come after nothing, which counts as one word.
        if grams[k]:
            counts[k][grams[k][0]] += 1

    def discounts(k):
        n = [sum(count == i for count in counts[k].values()) for i in range(1, 5)]
        if 0 in n:
            return [0, 0.5, 0.75, 0.9]
        y = n[0] / (n[0] + 2 * n[1])
        found = [i - (i + 1) * y * n[i] / n[i - 1] for i in (1, 2, 3)]
        return [0, *(min(max(d, 0), i) for i, d in enumerate(found, start=1))]

    taken = {k: discounts(k) for k in counts}

    def probability(word, history):
        if history is None:
            return 1 / V
        k = len(history) + 1
        lower = probability(word, history[1:] if history else None)
        after = {gram[-1]: count for gram, count in counts[k].items() if gram[:-1] == history}
        total = sum(after.values())
        if not total:
            return lower
        left = after.get(word, 0) - taken[k][min(after.get(word, 0), 3)]
        gamma = sum(taken[k][min(count, 3)] for count in after.values()) / total
        return left / total + gamma * lower

    return lambda word, history: probability(
        word, tuple(history)[max(0, len(history) - order + 1) :]
    )


@given(train=texts, text=texts, order=orders)
def test_probabilities_are_the_definitions(train, text, order):
    probability = reference(train, order)
    expected = [probability(word, text[:i]) for i, word in enumerate(text)]
    actual = KneserNey(np.array(train), V, order).probabilities(np.array(text))
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_a_text_long_enough_to_estimate_discounts_from():
    rng = np.random.default_rng(0)
    train, text = rng.zipf(1.6, 3000) % V, rng.zipf(1.6, 100) % V
    trigrams = collections.Counter(zip(train[:-2], train[1:-1], train[2:], strict=True))
    assert {1, 2, 3, 4} <= set(trigrams.values())
    probability = reference(train.tolist(), 3)
    expected = [probability(word, text[:i].tolist()) for i, word in enumerate(text.tolist())]
    np.testing.assert_allclose(KneserNey(train, V, 3).probabilities(text), expected, rtol=1e-12)


@given(train=texts, history=st.lists(st.integers(0, V - 1), max_size=7), order=orders)
def test_probabilities_of_all_words_add_up_to_one(train, history, order):
    model = KneserNey(np.array(train), V, order)
    history = np.array(history, int)
    distribution = model.distribution(history)
    assert distribution.min() > 0
    assert distribution.sum() == pytest.approx(1, abs=1e-12)
    for cache in (Cache(3.0, 0.4), Cache(100.0, 0.0)):
        assert cache.distribution(history, distribution).sum() == pytest.approx(1, abs=1e-12)


@given(train=texts, text=texts, order=orders)
def test_a_word_has_the_probability_of_the_distribution(train, text, order):
    model, cache, text = KneserNey(np.array(train), V, order), Cache(2.5, 0.3), np.array(text)
    probabilities = model.probabilities(text)
    mixed = cache.mix(text, probabilities)
    for i, word in enumerate(text):
        distribution = model.distribution(text[:i])
        assert distribution[word] == pytest.approx(probabilities[i], rel=1e-12)
        with_cache = cache.distribution(text[:i], distribution)
        assert with_cache[word] == pytest.approx(mixed[i], rel=1e-12)


def test_the_cache_counts_what_was_said_half_as_much_after_its_half_life():
    shares = Cache(half_life=1.0, weight=0.5).mix(np.array([1, 2, 1, 1]), np.zeros(4))
    np.testing.assert_allclose(shares, [0, 0, 0.5 * (0.25 / 0.75), 0.5 * (0.625 / 0.875)])


def test_the_cache_is_tuned_to_the_text():
    rng = np.random.default_rng(0)
    bursts = np.repeat(rng.integers(0, 1000, 40), 30)
    anything = rng.integers(0, 1000, 1200)
    even = np.full(1200, 1 / 1000)
    tuned = Cache.tuned(bursts, even)
    assert tuned.weight > 0.8
    assert tuned.half_life == 25
    assert Cache.tuned(anything, even).weight < 0.05
    for half_life, weight in ((25, 0.5), (200, tuned.weight), (25, 0.99)):
        other = Cache(half_life, weight).mix(bursts, even)
        assert np.log(tuned.mix(bursts, even)).sum() > np.log(other).sum()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KneserNey(np.array([0, 1]), 2, 0), "order must be 1 or more, got 0."),
        (lambda: KneserNey(np.array([], int), 2), "There are no tokens to count."),
        (lambda: KneserNey(np.array([0, 7]), 3), "Tokens must be from 0 to 2, got 0 to 7."),
        (
            lambda: KneserNey(np.array([0, 1]), 2).probabilities(np.array([-1])),
            "Tokens must be from 0 to 1, got -1 to -1.",
        ),
        (lambda: Cache(0.0, 0.1), "half_life must be above 0, got 0.0."),
        (lambda: Cache(10.0, 1.0), "weight must be from 0 to below 1, got 1.0."),
    ],
)
def test_bad_values(make, message):
    with raises_only(message):
        make()


def test_the_command_prints_and_writes_the_figures(tmp_path):
    line = "the cat sees the dog and the dog sees the cat"
    for name, repeats in (("train", 30), ("validation", 3), ("test", 2)):
        (tmp_path / name).write_text(f"{line}\n" * repeats)
    printed = run_python(
        *("-m", "keras_stackrnn.ngram", "--cache", "--order=3"),
        *(f"--{name}_file={tmp_path / name}" for name in ("train", "validation", "test")),
        f"--output={tmp_path / 'figures.json'}",
    )
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert json.loads(printed) == figures
    assert figures["model"] == "3-gram with a cache"
    assert (figures["validation_tokens"], figures["test_tokens"]) == (3 * 12, 2 * 12)
    assert 1 < figures["test_perplexity"] < 3
    assert math.isfinite(figures["cache_weight"])
