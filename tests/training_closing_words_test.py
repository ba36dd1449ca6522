"""What a run says at its end."""

from training_case import tiny_config

from keras_stackrnn.training import closing_words

PER_N = {n: 1.0 if n < 30 else 0.995 for n in range(1, 61)}


def evaluation(**values):
    scores = {"per_n": PER_N, "percent_n_correct": 48.33}
    return {
        "score": "sequences",
        "soft": scores,
        "rounded": {**scores, "beyond": {200: 1.0, 1000: 0.5}},
        "restarts": [{"outcome": "solved"}, {"outcome": "hopeless"}],
        "wall_seconds": 83.2,
        "symbols": 1_200_000,
        "parameters": 2160,
        **values,
    }


def test_closing_words(tmp_path):
    config = tiny_config(tmp_path)
    lines = closing_words.of_search(config, evaluation()).splitlines()
    assert lines[4:7] == [
        "       n   16   17   18   19   20   21   22   23   24   25   26   27   28   29   30",
        "    soft  100  100  100  100  100  100  100  100  100  100  100  100  100  100   99",
        " rounded  100  100  100  100  100  100  100  100  100  100  100  100  100  100   99",
    ]
    assert lines[13:16] == [
        "soft: every sequence right at 48.3% of the n",
        "rounded: every sequence right at 48.3% of the n; n = 200: 100.0%, n = 1000: 50.0%",
        "1 of 2 restarts solved it on validation; 1:23 minutes, 1,200,000 symbols, "
        "2,160 parameters.",
    ]
    assert str(tmp_path) in lines[17]
    assert lines[18] == (
        "Next: python -m keras_stackrnn.serving.server --model_name=anbn "
        f"--model_base_path={tmp_path}/serving/anbn"
    )


def test_closing_words_without_rounding(tmp_path):
    text = closing_words.of_search(tiny_config(tmp_path), evaluation(rounded=None))
    assert "rounded" not in text


def test_many_sizes_are_put_together_and_the_score_is_named(tmp_path):
    per_n = {n: 1.0 if n < 61 else 0.9 for n in range(41, 501)}
    scores = {
        "per_n": per_n,
        "percent_n_correct": 4.3,
        "mean": 90.4,
        "sequences": 64,
        "further": {"sequences": dict.fromkeys(per_n, 0.25)},
    }
    found = evaluation(score="symbols", soft=scores, rounded=None)
    lines = closing_words.of_search(tiny_config(tmp_path), found).splitlines()
    assert lines[0] == "Symbols right, in percent:"
    assert lines[1].startswith("       n   41-   48-   55-   62-")
    assert lines[2].startswith("    soft   100   100    98    90")
    assert lines[11] == (
        "soft: every symbol right at 4.3% of the n (64 sequences each), 90.4% on the mean of them; "
        "25.0% of the sequences all right"
    )


def test_the_threshold_is_printed(tmp_path):
    scores = {
        "per_n": PER_N,
        "percent_n_correct": 50.0,
        "mean": 99.0,
        "threshold": 0.005,
        "further": {"cross-entropy": dict.fromkeys(PER_N, 0.0125)},
    }
    found = evaluation(score="valid next symbols", soft=scores, rounded=None)
    text = closing_words.of_search(tiny_config(tmp_path), found)
    assert "held possible (with a probability above 0.5%), in percent:" in text
    assert "; 0.0125 nats a symbol above the best that is possible\n" in text
