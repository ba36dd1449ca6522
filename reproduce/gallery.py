"""Makes the gallery: trains its models, measures them, and puts them into the package.

    python reproduce/gallery.py
    python reproduce/gallery.py --names=anbn,anbn-list

A run that is finished is not repeated, and one that was stopped goes on. All take about a minute,
but for binary addition, which takes up to twenty.
"""

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from absl import app, flags, logging

from keras_stackrnn import gallery, model_files, patterns
from keras_stackrnn.evaluation import evaluate
from keras_stackrnn.training import RunError, TrainingConfig, run_folder, train
from keras_stackrnn.training.files import write_aside

# Few memories, where few do: what they are for is then easy to see.
MODELS = {
    "anbn": ("anbn", {"memories": 1}, "One stack counts the a's and is popped by the b's."),
    "anb2n": ("anb2n", {"memories": 2}, "One stack counts the a's, another the first half of b's."),
    "anbncn": ("anbncn", {"memories": 2}, "Counting twice: b's as many as a's, and c's as many."),
    "anbncndn": ("anbncndn", {"memories": 3}, "Counting three times, to the d's."),
    "anbmcnm": ("anbmcnm", {"memories": 2}, "As many c's as there were a's and b's together."),
    "memorize": ("memorize", {}, "A word of 1s and 2s is said backwards, popped as it was pushed."),
    "binary_addition": ("binary_addition", {}, "Two numbers are added, the last digit first."),
    "anbn-list": ("anbn", {"model": "list", "memories": 1}, "Counting in a doubly-linked list."),
    "memorize-list": (
        "memorize",
        {"model": "list", "memories": 2},
        "A word is written into lists, and read as their heads walk back.",
    ),
    "anbn-queue": ("anbn", {"model": "queue", "memories": 1}, "Counting in a queue's length."),
    "anbn-tape": ("anbn", {"model": "tape", "memories": 1}, "A tape's head goes out and back."),
    "anbn-editor": ("anbn", {"model": "editor", "memories": 1}, "An editor inserts and deletes."),
}
SMALL, LARGE = range(1, 61), (200, 1000)
SEQUENCES, OF_LARGE = 200, 10


def define_flags(values: flags.FlagValues) -> None:
    flags.DEFINE_list("names", list(MODELS), "Models to make.", flag_values=values)
    flags.DEFINE_string("runs", "runs/gallery", "Folder for the runs.", flag_values=values)


def make(name: str, runs: Path) -> None:
    """Trains a model unless it is there, and puts it into the gallery."""
    task, values, shows = MODELS[name]
    config = TrainingConfig.from_recipe(task, **values, output_dir=str(runs / name))
    folder = Path(config.output_dir)
    if not (folder / run_folder.EVALUATION).exists():
        train(config, resume=(folder / run_folder.CONFIG).exists())
    model = model_files.load(str(folder)).twin(rounding=True, capacity=None)
    write_aside(gallery.FOLDER / f"{name}.keras", model.save)
    by_hand = TrainingConfig.from_recipe(task, **values, output_dir=f"runs/{name}")
    entry = gallery.Entry(task, shows, by_hand.command(), measured(model, patterns.get(task)))
    index = json.loads(gallery.INDEX.read_text()) if gallery.INDEX.exists() else {}
    index[name] = entry._asdict()
    ordered = {each: index[each] for each in MODELS if each in index}
    text = json.dumps(ordered, indent=2, ensure_ascii=False) + "\n"
    write_aside(gallery.INDEX, lambda aside: aside.write_text(text, encoding="utf-8"))
    print(f"{name}: {entry.right}", flush=True)


def measured(model, pattern: patterns.Pattern) -> dict[str, float]:
    """The share of test sequences that are right, in percent: of all small n, and of each large."""
    small = [n for n in SMALL if n >= pattern.smallest_n]
    shares = evaluate(model, pattern, small, SEQUENCES, rounding=True).per_n.values()
    right = {f"{small[0]}-{small[-1]}": sum(shares) / len(shares)}
    for n in LARGE:
        right[str(n)] = evaluate(model, pattern, [n], OF_LARGE, rounding=True).per_n[n]
    return {n: round(100 * share, 2) for n, share in right.items()}


def main(argv: list[str]) -> None:
    logging.set_verbosity(logging.WARNING)
    values = flags.FLAGS
    unknown = [name for name in values.names if name not in MODELS]
    if len(argv) > 1 or unknown:
        sys.exit(f"Expected --names of {', '.join(MODELS)}, got {', '.join(unknown or argv[1:])}.")
    try:
        for name in values.names:
            make(name, Path(values.runs))
    except RunError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    define_flags(flags.FLAGS)
    app.run(main)
