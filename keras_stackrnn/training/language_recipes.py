"""Recipes for language models: every default of a training on text, by task and model.

`plain`, the default, is what the rows of the paper's table are measured with. `tuned` adds what
helps: dropout outside the recurrence and averaged weights.

    python train.py --task=penn_treebank --manual_dir=DIR
    python train.py --task=penn_treebank --manual_dir=DIR --model=lstm
    python train.py --task=penn_treebank --manual_dir=DIR --recipe=tuned
    python train.py --task=text --train_file=FILE --level=char
"""

RECIPES = ("plain", "tuned")
TASKS = ("penn_treebank", "text")

_EVERY_TASK = {
    "seed": 1,
    "minutes": None,
    "checkpoint_seconds": 60.0,
    "manual_dir": None,
    "train_file": None,
    "validation_file": None,
    "test_file": None,
    "vocabulary_size": 10_000,
    # The paper's sizes; SRCN's 40 context units are those of Mikolov et al. (2014).
    "units": 100,
    "layers": 1,
    "context_units": 0,
    "memories": 0,
    "no_op": False,
    "read_depth": 2,
    "capacity": None,
    "embedding": 100,
    "lanes": 20,
    "window": 35,
    "epochs": 40,
    "updates_a_round": 200,
    # Validation perplexity after 0.4 epochs of Penn Treebank, without dropout. LSTM: Adam at 0.01
    # 269, at 0.004 362; SGD at 20 317. Stack RNN: Adam at 0.01 347, at 0.006 390, at 0.002 491; SGD
    # at 10 487, at 20 448, at 60 it diverges.
    "optimizer": "adam",
    "learning_rate": 0.01,
    "clip_norm": 0.5,
    "dropout": 0.0,
    "averaging": 0.0,
}

_TASKS = {
    "penn_treebank": {"level": "word"},
    "text": {"level": "char", "embedding": 32, "window": 50},
}

_MODELS = {
    "stack": {"memories": 60, "no_op": True, "capacity": 64},
    "list": {"memories": 30, "no_op": True, "capacity": 64},
    "rnn": {},
    "lstm": {},
    "srcn": {"context_units": 40},
}

_TUNED = {"dropout": 0.2, "averaging": 0.9995}


def defaults(task: str, model: str, recipe: str) -> dict:
    """The recipe's values for a task and a model."""
    values = {**_EVERY_TASK, **_TASKS[task], **_MODELS[model]}
    if recipe == "tuned":
        values |= _TUNED
    return values
