"""Counts n-grams and prints the perplexities.

    python -m keras_stackrnn.ngram --manual_dir=DIR
    python -m keras_stackrnn.ngram --manual_dir=DIR --cache
    python -m keras_stackrnn.ngram --train_file=FILE --validation_file=FILE --level=word --order=3

On two cores it takes less than half a minute on Penn Treebank.
"""

import json
import sys
import time

import numpy as np
from absl import flags

from keras_stackrnn import command_line, corpus
from keras_stackrnn.ngram import Cache, KneserNey


def define_flags(values: flags.FlagValues) -> None:
    options = {"flag_values": values}
    flags.DEFINE_string("manual_dir", None, "Folder with Penn Treebank's files.", **options)
    flags.DEFINE_string("train_file", None, "Text of your own to count instead.", **options)
    flags.DEFINE_string("validation_file", None, "Text to tune the cache on.", **options)
    flags.DEFINE_string("test_file", None, "Text to test on.", **options)
    flags.DEFINE_string("level", "word", "What a token is: word or char.", **options)
    flags.DEFINE_integer("order", 5, "The n of the longest n-grams.", **options)
    flags.DEFINE_boolean("cache", False, "Whether to mix in a cache.", **options)
    flags.DEFINE_string("output", None, "File to write the figures to, as JSON.", **options)


def measure(text: corpus.Corpus, order: int, use_cache: bool) -> dict:
    """Counts, tunes and tests; the cache is tuned on validation, the test is read at the end."""
    started = time.monotonic()
    model = KneserNey(text.train, len(text.vocabulary), order)
    validation = model.probabilities(text.validation)
    cache = None
    if use_cache:
        cache = Cache.tuned(text.validation, validation)
        validation = cache.mix(text.validation, validation)
    figures = {
        "model": f"{order}-gram" + (" with a cache" if use_cache else ""),
        "validation_tokens": len(text.validation),
        "validation_perplexity": perplexity(validation),
        "seconds": None,
        "parameters": model.parameters,
    }
    if cache is not None:
        figures |= {"half_life": cache.half_life, "cache_weight": cache.weight}
    if text.has_test:
        tokens = text.test()
        test = model.probabilities(tokens)
        if cache is not None:
            test = cache.mix(tokens, test)
        figures |= {"test_tokens": len(tokens), "test_perplexity": perplexity(test)}
    figures["seconds"] = round(time.monotonic() - started, 1)
    return figures


def perplexity(probabilities: np.ndarray) -> float:
    """The geometric mean of one over each probability."""
    return float(np.exp(-np.mean(np.log(probabilities))))


def read(values: flags.FlagValues) -> corpus.Corpus:
    """The text that the flags name."""
    if values.train_file is None:
        return corpus.penn_treebank(values.manual_dir, values.level)
    if values.manual_dir is not None:
        raise ValueError("Either manual_dir or train_file says what to count, got both.")
    return corpus.text_files(
        values.train_file, values.validation_file, values.test_file, values.level
    )


def main(arguments: list[str], values: flags.FlagValues = flags.FLAGS) -> None:
    """Measures as the flags say; a fault ends the program with one sentence."""
    try:
        if len(arguments) > 1:
            raise ValueError(f"Everything is a flag, got {arguments[1]!r}.")
        figures = measure(read(values), values.order, values.cache)
    except ValueError as error:
        sys.exit(str(error))
    printed = json.dumps(figures, indent=2)
    print(printed)
    if values.output:
        with open(values.output, "w") as file:
            file.write(f"{printed}\n")


if __name__ == "__main__":
    command_line.run(sys.modules[__name__])
