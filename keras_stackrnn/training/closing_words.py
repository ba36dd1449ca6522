"""What a run says at its end: what it found, where everything is, and the next command."""

import math
import shlex
from pathlib import Path

from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.configs import AnyConfig
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.run_folder import (
    CONFIG,
    EVALUATION,
    EVENTS,
    METRICS,
    MODEL,
    SERVING,
    served_name,
)
from keras_stackrnn.training.wording import clock, number

_N_A_LINE = 15
# More n than these are put together in groups.
_MOST_N = 75

_MEANINGS = {
    "sequences": "Sequences all right",
    "symbols": "Symbols right",
    "probability": "Probability of a symbol, the geometric mean",
    "valid next symbols": "Places where exactly the symbols that may come are held possible",
}


def of_search(config: TrainingConfig, evaluation: dict, *pictures: str) -> str:
    """The scores by n, and how the restarts ended."""
    ways = {way: evaluation[way] for way in ("soft", "rounded") if evaluation[way]}
    lines = of_scores(evaluation["score"], ways)
    lines += [_in_a_row(*each) for each in (evaluation.get("in_a_row") or {}).items()]
    solved = sum(restart["outcome"] == "solved" for restart in evaluation["restarts"])
    restarts = f"{solved} of {len(evaluation['restarts'])} restarts solved it on validation; "
    lines += [restarts + _effort(evaluation), *_by_heart(evaluation["restarts"])]
    return "\n".join([*lines, *_further(config, pictures)])


def of_scores(score: str, ways: dict[str, dict]) -> list[str]:
    """The scores by n, soft and rounded, as `evaluation.json` has them: a table and its sum."""
    meaning = meaning_of(score)
    threshold = next(iter(ways.values())).get("threshold")
    if threshold is not None:
        meaning += f" (with a probability above {threshold:.1%})"
    lines = [f"{meaning}, in percent:", *_table(ways)]
    for way, found in ways.items():
        tested = f" ({found['sequences']} sequences each)" if "sequences" in found else ""
        right = "sequence" if score == "sequences" else score.removesuffix("s")
        if score == "probability":
            lines.append(f"{way}: {found['mean']:.1f}% on the mean of the n")
        else:
            lines.append(
                f"{way}: every {right} right at {found['percent_n_correct']:.1f}% of the n{tested}"
            )
            if score != "sequences":
                lines[-1] += f", {found['mean']:.1f}% on the mean of them"
        for name, per_n in found.get("further", {}).items():
            mean = sum(per_n.values()) / len(per_n)
            if name == "cross-entropy":
                lines[-1] += f"; {mean:.4f} nats a symbol above the best that is possible"
            elif name == "sequences":
                lines[-1] += f"; {mean:.1%} of the sequences all right"
            elif score == "probability":
                lines[-1] += f"; {mean:.1%} of the {name} right"
        if found.get("beyond"):
            far = ", ".join(f"n = {n}: {share:.1%}" for n, share in found["beyond"].items())
            lines[-1] += f"; {far}"
    return lines


def _by_heart(restarts: list[dict]) -> list[str]:
    """What to say if nobody has understood more than the examples that were learned from."""
    ended = [restart for restart in restarts if restart.get("learned_accuracy") is not None]
    if not ended or any(restart["outcome"] != "learned by heart" for restart in ended):
        return []
    best = max(ended, key=lambda restart: restart["learned_accuracy"])
    held_out = min(best["soft_accuracy"], best.get("rounded_accuracy", 1.0))
    return [
        f"Every restart that came to its end, {len(ended)} of them, has learned the examples by "
        f"heart: the best scores {best['learned_accuracy']:.1%} on those that it learned from and "
        f"{held_out:.1%} on those that were held out. More examples help, or a smaller model "
        "(--units, --memories)."
    ]


def _in_a_row(way: str, found: dict) -> str:
    words = f"{way}, in a row without emptying the memory: {found['right']} of "
    words += f"{found['sequences']} sequences right"
    first = found["first_fault"]
    return words if first is None else f"{words}, the first fault in number {first}"


def meaning_of(score: str) -> str:
    """What a score is the share of, in words."""
    return _MEANINGS[score]


def of_language(config: LanguageModelConfig, evaluation: dict, *pictures: str) -> str:
    """The perplexities."""
    test = evaluation["test_perplexity"]
    words = f"{number(evaluation['validation_perplexity'], '.2f')} on validation"
    if test is not None:
        words += f", {number(test, '.2f')} on the {evaluation['test_tokens']:,} test tokens"
    epochs = f"{len(evaluation['epochs'])} epochs, "
    return "\n".join(
        [f"Perplexity: {words}.", epochs + _effort(evaluation), *_further(config, pictures)]
    )


def next_command(config: AnyConfig) -> str:
    """The command that serves what was learned."""
    name = served_name(config.task)
    models = Path(config.output_dir) / SERVING / name
    server = ["python", "-m", "keras_stackrnn.serving.server"]
    return shlex.join([*server, f"--model_name={name}", f"--model_base_path={models}"])


def _effort(evaluation: dict) -> str:
    return (
        f"{clock(evaluation['wall_seconds'])} minutes, {evaluation['symbols']:,} symbols, "
        f"{evaluation['parameters']:,} parameters."
    )


def _further(config: AnyConfig, pictures: tuple[str, ...]) -> list[str]:
    names = (MODEL, EVALUATION, *pictures, METRICS, CONFIG, f"{EVENTS}/", f"{SERVING}/")
    where = f"In {config.output_dir}: {', '.join(names)}"
    return ["", where, f"Next: {next_command(config)}"]


def _table(ways: dict[str, dict]) -> list[str]:
    every_n = list(dict.fromkeys(n for found in ways.values() for n in found["per_n"]))
    size = math.ceil(len(every_n) / _MOST_N)
    groups = [every_n[start : start + size] for start in range(0, len(every_n), size)]
    heads = [str(group[0]) if size == 1 else f"{group[0]}-" for group in groups]
    width = max(5, *(len(head) + 2 for head in heads))
    lines = []
    for start in range(0, len(groups), _N_A_LINE):
        some = slice(start, start + _N_A_LINE)
        lines.append(f"{'n':>8}" + "".join(f"{head:>{width}}" for head in heads[some]))
        for way, found in ways.items():
            shares = (_share(found["per_n"], group) for group in groups[some])
            lines.append(f"{way:>8}" + "".join(f"{share:>{width}}" for share in shares))
    return lines


def _share(per_n: dict[int, float], group: list[int]) -> str:
    """The mean of some n in percent, rounded down, so that 100 always means all of them."""
    known = [per_n[n] for n in group if n in per_n]
    return str(math.floor(100 * math.fsum(known) / len(known))) if known else "-"
