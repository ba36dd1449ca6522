"""The fifteen tasks of Neural Networks and the Chomsky Hierarchy, as `chomsky/<name>`."""

from keras_stackrnn.tasks.chomsky import (  # noqa: F401 they register
    binary,
    brackets,
    counts,
    missing_duplicate_string,
    modular_arithmetic,
    rearranged,
    stack_manipulation,
)
