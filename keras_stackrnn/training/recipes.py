"""Recipes: every default of a training, by task and model.

`fast`, the default, is what was measured to find the algorithm most reliably and quickly: on two
cores, right on every n up to 60, soft and rounded, and rounded on n = 200 and 1,000.

    python train.py --task=anbn                      half a minute, as do anbncn to anbmcnm
    python train.py --task=memorize                  half a minute
    python train.py --task=memorize --model=list     half a minute; anbn to anbmcnm less
    python train.py --task=binary_addition           six to twenty minutes; 17 of 21 seeds
    python train.py --task=anbncn --model=lstm --units=100 --layers=2
    python train.py --task=chomsky/cycle_navigation  a minute, as does missing_duplicate_string

Binary addition takes more than the others: lessons in which one operand is short (`Task.lessons`),
hidden units that see the ones before them, heirs of the restarts that lead, sigmoids that are
learned from as if they lay around 0 (centring.py), and an exam at the end (exam.py). What each
brings is in results/binary_addition.md. The others are found as often without.

`paper` is the set-up of Joulin & Mikolov (2015) as closely as training in batches allows: SGD at
0.1 a symbol that halves when validation stops improving, hard clipping at 15, small initial
weights, no noise.

    python train.py --task=anbn --recipe=paper       two minutes; 100% of the n rounded, 63% soft

It deviates in these points: 8 lanes are read at once, a window of 50 symbols makes one update, n
grows with mastery and not with epochs, and memories are emptied more often.
"""

from keras_stackrnn import memories, tasks
from keras_stackrnn.models import has_memory

RECIPES = ("fast", "paper")

# What a search may vary from restart to restart, and does not unless a recipe says so.
NOTHING_VARIES = {
    "heirs_behind": 0,
    "done_when_sure": None,
    "vary": 1.0,
    "listening": 0.0,
    "noise_growth": 1.0,
    "begin_with": None,
}

_EVERY_TASK = {
    **NOTHING_VARIES,
    "seed": 1,
    "minutes": None,
    "checkpoint_seconds": 10.0,
    # The paper trains on n below 20 and reads the two top-most elements.
    "max_n": 19,
    "read_depth": 2,
    "no_op": False,
    "element_size": 1,
    "controller": "simple",
    "writes_hidden": False,
    # The memory is all there is to remember with, as in the paper.
    "use_recurrent_kernel": False,
    "layers": 1,
    # The gradient stops at a window's edge, the memory does not.
    "lanes": 8,
    "window": 50,
    # Sequences are tested with an empty memory, so that is how some of them have to begin.
    "episode": 4,
    # Short sequences come first, longer ones once nine in ten of their symbols are right.
    "first_max_n": 3,
    "mastery": 0.9,
    "only_deterministic": False,
    "validation_sequences": 10,
    "exam_sequences": 0,
    "exam_confidence": 0.9,
    "sequences_in_a_row": 0,
    "capacity": 64,
    "optimizer": "adam",
    "learning_rate": 0.03,
    "clip_norm": 1.0,
    "clip_value": None,
    "action_noise": 1.5,
    "initial_scale": 0.25,
    "centred": False,
    "population": 16,
    "populations": 1,
    "cluster": None,
    "mixed_nodes": False,
    "wanted": 3,
    "updates": 4800,
    "updates_a_round": 48,
    "lifetime": 480,
    "cooling": 0.4,
    "hopeless_below": 0.1,
    "inherit_every": None,
}

# The paper does not say what a list shows: the head and its neighbours on both sides, here.
_LIST = {"read_depth": 3}

# The sizes are the paper's, but for fewer units for memorization, which do as well.
_COUNTING = {
    "stack": {"units": 40, "memories": 10},
    "list": {"units": 40, "memories": 5, **_LIST},
}
_MEMORIZE = {
    "stack": {"units": 60, "memories": 10, "first_max_n": 2},
    "list": {"units": 60, "memories": 10, "first_max_n": 2, **_LIST},
}
_BINARY_ADDITION = {
    "stack": {
        "units": 100,
        "memories": 10,
        "no_op": True,
        # The paper has none here either. With it, more lessons were learned in the same time.
        "use_recurrent_kernel": True,
        "only_deterministic": True,
        # Without, no restart of 16 came to the last lesson within 1,600 updates; with it, 15.
        "centred": True,
        # A window holds a whole sum with the longest operands, and gradients all the way through.
        "episode": 1,
        "mastery": 0.94,
        # At 0.02 restarts that are right on half of the sequences fall back to none again.
        "learning_rate": 0.01,
        # A case that is rare in training has to be among the validation sequences.
        "validation_sequences": 40,
        # Some are right on all of those and not on all that are longer: see exam.py.
        "exam_sequences": 1000,
        # Most are right on all of those after 3,000 updates, and surer of them after 6,000.
        "lifetime": 6000,
        "cooling": 0.3,
        # Four populations, if nobody passes the exam before.
        "updates": 24_000,
        "updates_a_round": 100,
        "wanted": 1,
        # Most restarts stay at the first sums with a carry between two long operands for long.
        "inherit_every": 400,
    },
}
_BINARY_ADDITION["list"] = {**_BINARY_ADDITION["stack"], **_LIST}

_TASKS = {"memorize": _MEMORIZE, "binary_addition": _BINARY_ADDITION}

# Labels and answers are little to learn from, so that restarts differ in all that may decide, and
# noise comes with success: as they are for patterns, 160 restarts of even_pairs stayed at chance.
# Few memories will do, and cost less: each is read at every symbol, up to a thousand of them.
_ANSWERS = {
    "units": 40,
    "memories": 5,
    "no_op": True,
    "vary": 3.0,
    "listening": 0.5,
    "action_noise": 0.3,
    "noise_growth": 1.002,
    "done_when_sure": 0.99,
    "wanted": 1,
    "lifetime": 2400,
    "updates": 9600,
}
_OF_FORMS = {
    form: {"stack": _ANSWERS, "list": {**_ANSWERS, **_LIST}}
    for form in ("transduction", "recognition")
}
_OF_CHOMSKY = {
    "reverse_string": {"units": 20, "memories": 2, "no_op": False},
    "stack_manipulation": {"units": 30, "memories": 2, "no_op": False},
    "parity_check": {"units": 20, "memories": 3, "no_op": False},
    "even_pairs": {"units": 24, "memories": 3, "no_op": False},
}
_TASKS |= {
    f"chomsky/{name}": {"stack": {**_ANSWERS, **own}, "list": {**_ANSWERS, **own, **_LIST}}
    for name, own in _OF_CHOMSKY.items()
}

# Their states are those of a finite automaton, which a table of next states says at once.
_OF_AUTOMATA = {
    "chomsky/cycle_navigation": {"units": 8},
    "chomsky/missing_duplicate_string": {"units": 8},
    # Two running values modulo 5 and the operator between them: the table is large, and is learned
    # slowly, but by most restarts.
    "chomsky/modular_arithmetic": {
        "units": 80,
        "lanes": 16,
        "population": 8,
        "wanted": 1,
        "lifetime": 2400,
        "updates": 4800,
        "done_when_sure": 0.8,
    },
}

# Files hold few examples, so that a small model does; all that are held out are validated on.
_OF_FILES = {"units": 24, "memories": 3, "validation_sequences": 100, "lifetime": 960}
# What may come in strings nobody knows, so that no restart is ever done: all live once, to the end.
_ONE_LIFE = {"lifetime": 1920, "updates": 1920}
for _form, _more in (("strings", _ONE_LIFE), ("transduction", {}), ("recognition", {})):
    _values = {**_OF_FILES, **_more}
    _TASKS[_form] = {"stack": _values, "list": {**_values, **_LIST}}

# Without a memory, as many units as the paper's baselines have; none of the restarts is given up.
_BASELINE = {
    **NOTHING_VARIES,
    "units": 100,
    "memories": 0,
    "no_op": False,
    "use_recurrent_kernel": True,
    "episode": 4,
    "capacity": None,
    "action_noise": 0.0,
    "initial_scale": 0.1,
    "learning_rate": 0.005,
    "lanes": 32,
    "population": 4,
    "wanted": 1,
    # A lesson lasts a round at least: with long ones the larger networks are still at short
    # sequences when their time is over.
    "updates_a_round": 48,
    "updates": 2880,
    "lifetime": 2880,
    "hopeless_below": 0.0,
    "inherit_every": None,
    "centred": False,
    "exam_sequences": 0,
    "sequences_in_a_row": 0,
}
# For networks without gates, and to add: they are still learning when others are done.
_LONG_LIFE = {"lifetime": 9600, "updates": 9600}

# Tables of next states are found from large weights, and lost where they are sharpened later.
_SECOND_ORDER = {
    **NOTHING_VARIES,
    "use_recurrent_kernel": True,
    "initial_scale": 1.0,
    "learning_rate": 0.01,
    "clip_norm": 1.0,
    "action_noise": 0.5,
    "centred": False,
}
_SECOND_ORDER_ALONE = {
    **_SECOND_ORDER,
    "units": 16,
    "memories": 0,
    "no_op": False,
    "capacity": None,
    "learning_rate": 0.02,
}

_PAPER = {
    "centred": False,
    "optimizer": "sgd",
    # 0.1 for a symbol: an update's loss is the mean of a window's 50, which sum up in the paper.
    "learning_rate": 5.0,
    "clip_norm": None,
    "clip_value": 15.0,
    "action_noise": 0.0,
    "initial_scale": 0.1,
    # Rates are halved at validations: with more of them they fall before anything is learned.
    "updates_a_round": 240,
    "lifetime": 4800,
    "updates": 9600,
    "hopeless_below": 0.0,
    "exam_sequences": 0,
    "sequences_in_a_row": 0,
}


def model_for(task: str) -> str:
    """The model that a task is learned by if none is asked for."""
    return "second_order" if task in _OF_AUTOMATA else "stack"


def defaults(task: tasks.Task, model: str, recipe: str, controller: str = "simple") -> dict:
    """The recipe's values for a task, a model and its controller."""
    of_forms = _OF_FORMS if has_memory(model) else {}
    of_task = _TASKS.get(_family(task.name)) or of_forms.get(task.form, _COUNTING)
    values = {**_EVERY_TASK, **(of_task.get(model) or of_task[_most_alike(model)])}
    values |= _fitting(task)
    if model == "second_order":
        values |= {**_SECOND_ORDER_ALONE, **_OF_AUTOMATA.get(task.name, {})}
    elif not has_memory(model):
        values |= _BASELINE
        if model == "rnn" or task.name == "binary_addition":
            values |= _LONG_LIFE
    elif controller == "second_order":
        values |= _SECOND_ORDER
    values["rounding"] = has_memory(model)
    if recipe == "paper":
        values |= _PAPER
        values["use_recurrent_kernel"] = not has_memory(model) or controller == "second_order"
    return values


def _fitting(task: tasks.Task) -> dict:
    """What follows from a task itself."""
    largest = task.train_sizes[-1]
    if task.flows:
        return {"max_n": largest}
    # A window holds whole sequences, and a memory all that they can write.
    places = max(_EVERY_TASK["window"], task.places(largest))
    return {
        "max_n": largest,
        "window": places,
        "capacity": places,
        "only_deterministic": False,
        "sequences_in_a_row": 0,
    }


def _most_alike(model: str) -> str:
    """Whose recipe serves a model that has none of its own."""
    if has_memory(model) and memories.get(model).has_two_sides:
        return "list"
    return "stack"


def _family(task: str) -> str:
    return "memorize" if task.startswith("memorize") else task
