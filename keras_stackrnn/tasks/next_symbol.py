"""A decorator for patterns: it stands beside `transduction` and `recognition`."""

from collections.abc import Callable

from keras_stackrnn.tasks import registry
from keras_stackrnn.tasks.pattern import Pattern


def next_symbol(name: str, **properties):
    """Decorator that makes a function of `(n, draw)` a pattern, known by its name everywhere.

    Args:
        name: The pattern's name.
        **properties: The other properties of a `Pattern`: `alphabet`, `smallest_n`, `n_means`,
            `example`, and where needed `next_first_is_deterministic`, `generate_batch`,
            `limit_means`, `recover`, …

    Returns:
        A decorator that registers the function and returns it unchanged.

    Example:

    >>> @next_symbol("copy", alphabet="01=", smallest_n=1, n_means="word length", example="01=[01]")
    ... def copy(n, draw):
    ...     word = "".join(draw.choice("01") for _ in range(n))
    ...     return word + "=", word
    """

    def decorate(generate: Callable[..., tuple[str, ...]]):
        registry.add(Pattern(name=name, generate=generate, **properties))
        return generate

    return decorate
