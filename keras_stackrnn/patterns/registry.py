"""Every pattern by its name."""

from collections.abc import Callable

from keras_stackrnn.patterns.pattern import Pattern

_patterns: dict[str, Pattern] = {}
_families: dict[str, Callable[[int], Pattern]] = {}


def register(name: str, **properties):
    """Decorator that makes a function of `(n, draw)` a pattern, known by its name everywhere.

    Args:
        name: The pattern's name.
        **properties: The other properties of a `Pattern`: `alphabet`, `smallest_n`, `n_means`,
            `example`, and where needed `next_first_is_deterministic`, `generate_batch`,
            `limit_means` and `recover`.

    Returns:
        A decorator that registers the function and returns it unchanged.

    Example:

    >>> @register("copy", alphabet="01=", smallest_n=1, n_means="word length", example="01=[01]")
    ... def copy(n, draw):
    ...     word = "".join(draw.choice("01") for _ in range(n))
    ...     return word + "=", word
    """

    def decorate(generate: Callable[..., tuple[str, ...]]):
        add(Pattern(name=name, generate=generate, **properties))
        return generate

    return decorate


def add(pattern: Pattern) -> None:
    """Makes a pattern known by its name."""
    known = _patterns.get(pattern.name)
    if known is not None and _origin(known) != _origin(pattern):
        raise ValueError(f"There is a pattern {pattern.name!r} already; choose another name.")
    _patterns[pattern.name] = pattern


def add_family(name: str, make: Callable[[int], Pattern]) -> None:
    """Makes `make(k)` known as `<name>_<k>` for every whole number k."""
    _families[name] = make


def get(name: str) -> Pattern:
    """The pattern of that name; `memorize_5` is memorization with five symbols."""
    if name in _patterns:
        return _patterns[name]
    family, _, number = name.rpartition("_")
    if family in _families and number.isdecimal():
        return _families[family](int(number))
    families = "".join(f", {each}_<k>" for each in _families)
    raise ValueError(f"There is no pattern {name!r}; there are {', '.join(names())}{families}.")


def names() -> tuple[str, ...]:
    """The names of all patterns in alphabetical order."""
    return tuple(sorted(_patterns))


def _origin(pattern: Pattern) -> tuple[str, str]:
    # A notebook cell that is run again defines the same function anew: not a clash of names.
    return pattern.generate.__module__, pattern.generate.__qualname__
