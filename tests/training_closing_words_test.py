"""What a run says at its end."""

from training_case import tiny_config

from keras_stackrnn.training import closing_words

PER_N = {n: 1.0 if n < 30 else 0.995 for n in range(1, 61)}


def evaluation(**values):
    scores = {"per_n": PER_N, "percent_n_correct": 48.33}
    return {
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
    lines = closing_words.of_pattern(config, evaluation()).splitlines()
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
    text = closing_words.of_pattern(tiny_config(tmp_path), evaluation(rounded=None))
    assert "rounded" not in text
