"""Speed of training language models, softmax included: symbols a second over those of the LSTM.

    python benchmarks/language_model.py
    python benchmarks/language_model.py --models=stack,lstm --rounds=20

The text is random, with as many words and tokens as Penn Treebank has. Models take turns, a few
windows each, so that what else the machine does meets all of them; the figures are medians.
"""

import os
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from absl import app, flags

from keras_stackrnn.training import LanguageModelConfig
from keras_stackrnn.training.buffers import keep_large_buffers
from keras_stackrnn.training.language_model import LanguageModelTraining, TrainingText

_MODELS = flags.DEFINE_string("models", "stack,list,rnn,lstm,srcn", "Models to measure.")
_ROUNDS = flags.DEFINE_integer("rounds", 8, "Turns of each model.")
_WINDOWS = flags.DEFINE_integer("windows", 4, "Windows of a turn.")
_LANES = flags.DEFINE_integer("lanes", 20, "Parts of the text read side by side, by all models.")
_AVERAGING = flags.DEFINE_float("averaging", 0.0, "As in training, of all models.")

_TOKENS, _WORDS = 929_589, 10_000


def training_of(model: str, windows: int) -> LanguageModelTraining:
    rng = np.random.default_rng(0)
    vocabulary = ["<unk>", "<eos>", *(f"word{i}" for i in range(_WORDS - 2))]
    tokens = rng.integers(0, _WORDS, _TOKENS).astype(np.int32)
    config = LanguageModelConfig.from_recipe(
        "penn_treebank",
        model,
        updates_a_round=windows,
        lanes=_LANES.value,
        averaging=_AVERAGING.value,
    )
    return LanguageModelTraining(config, TrainingText(vocabulary, tokens, tokens[:1000], 1))


def main(_) -> None:
    keep_large_buffers()
    trainings = {model: training_of(model, _WINDOWS.value) for model in _MODELS.value.split(",")}
    seconds = {model: [] for model in trainings}
    for training in trainings.values():
        training.advance()  # compiles
    for _ in range(_ROUNDS.value):
        for model, training in trainings.items():
            started = time.perf_counter()
            training.advance()
            seconds[model].append(time.perf_counter() - started)
    config = next(iter(trainings.values())).config
    symbols = config.lanes * config.window * _WINDOWS.value
    print(f"{config.lanes} lanes, windows of {config.window}, {config.units} units")
    print(f"{'model':>6} {'symbols/s':>10} {'epoch':>7} {'of lstm':>8}")
    for model, times in seconds.items():
        median = statistics.median(times)
        ratio = ""
        if "lstm" in seconds:
            # Turns of one round are close in time: their ratio is steadier than a ratio of medians.
            pairs = zip(seconds["lstm"], times, strict=True)
            ratio = f"{statistics.median(lstm / own for lstm, own in pairs):.2f}"
        print(
            f"{model:>6} {symbols / median:>10,.0f} {_TOKENS * median / symbols:>6.0f}s {ratio:>8}"
        )


if __name__ == "__main__":
    app.run(main)
