"""What a run says at its end: what it found, where everything is, and the next command."""

import math
import shlex
from pathlib import Path

from keras_stackrnn.training.config import TrainingConfig
from keras_stackrnn.training.configs import AnyConfig
from keras_stackrnn.training.language_config import LanguageModelConfig
from keras_stackrnn.training.run_folder import CONFIG, EVALUATION, EVENTS, METRICS, MODEL, SERVING
from keras_stackrnn.training.wording import clock, number

_N_A_LINE = 15


def of_pattern(config: TrainingConfig, evaluation: dict, *pictures: str) -> str:
    """The accuracy by n, and how the restarts ended."""
    ways = {way: evaluation[way] for way in ("soft", "rounded") if evaluation[way]}
    lines = ["Sequences all right, in percent:", *_table(ways)]
    for way, found in ways.items():
        lines.append(f"{way}: every sequence right at {found['percent_n_correct']:.1f}% of the n")
        if found.get("beyond"):
            far = ", ".join(f"n = {n}: {share:.1%}" for n, share in found["beyond"].items())
            lines[-1] += f"; {far}"
    solved = sum(restart["outcome"] == "solved" for restart in evaluation["restarts"])
    restarts = f"{solved} of {len(evaluation['restarts'])} restarts solved it on validation; "
    return "\n".join([*lines, restarts + _effort(evaluation), *_further(config, pictures)])


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
    models = Path(config.output_dir) / SERVING / config.task
    server = ["python", "-m", "keras_stackrnn.serving.server"]
    return shlex.join([*server, f"--model_name={config.task}", f"--model_base_path={models}"])


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
    lines = []
    n_values = list(ways["soft"]["per_n"])
    for start in range(0, len(n_values), _N_A_LINE):
        some = n_values[start : start + _N_A_LINE]
        lines.append(f"{'n':>8}" + "".join(f"{n:>5}" for n in some))
        for way, found in ways.items():
            shares = (found["per_n"][n] for n in some)
            # Rounded down, so that 100 always means all of them.
            lines.append(f"{way:>8}" + "".join(f"{math.floor(100 * s):>5}" for s in shares))
    return lines
