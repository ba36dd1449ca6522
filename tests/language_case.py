"""What the tests of language models share: a text, and trainings that take a second."""

import random

from keras_stackrnn import corpus
from keras_stackrnn.training import LanguageModelConfig
from keras_stackrnn.training.language_model import LanguageModelTraining, TrainingText

_THINGS = ("the cat", "the dog", "a small bird", "my old friend", "the quiet river", "our house")
_DOINGS = ("sees", "follows", "forgets", "likes")

TINY = {
    "units": 5,
    "embedding": 4,
    "lanes": 3,
    "window": 8,
    "epochs": 3,
    "updates_a_round": 7,
    "optimizer": "adam",
    "learning_rate": 0.02,
    "dropout": 0.0,
    "input_dropout": 0.0,
    "level": "word",
    "checkpoint_seconds": 1e-3,
}
SIZES = {
    "stack": {"memories": 2, "capacity": 4},
    "list": {"memories": 2, "capacity": 5},
    "srcn": {"context_units": 3},
}


def lines(number: int, seed: int = 0) -> list[str]:
    """Sentences to learn."""
    draw = random.Random(seed)
    return [
        f"{draw.choice(_THINGS)} {draw.choice(_DOINGS)} {draw.choice(_THINGS)}"
        for _ in range(number)
    ]


def write_texts(folder) -> dict[str, str]:
    """Three text files, as values of a configuration."""
    paths = {}
    for seed, (name, number) in enumerate({"train": 80, "validation": 15, "test": 10}.items()):
        path = folder / f"{name}.txt"
        path.write_text("".join(f"{line}\n" for line in lines(number, seed)))
        paths[f"{name}_file"] = str(path)
    return paths


def tiny_config(model: str = "rnn", **values) -> LanguageModelConfig:
    """Three epochs of a text; without files it can be trained, but not run."""
    given = {"output_dir": "unused", **TINY, **SIZES.get(model, {}), **values}
    return LanguageModelConfig.from_recipe("text", model, **given)


def tiny_text() -> TrainingText:
    return TrainingText.of(corpus.Corpus("word", lines(80), lines(15, seed=1)))


def training_of(model: str = "rnn", **values) -> LanguageModelTraining:
    return LanguageModelTraining(tiny_config(model, **values), tiny_text())


def finish(training: LanguageModelTraining) -> LanguageModelTraining:
    while not training.done:
        training.advance()
    return training
