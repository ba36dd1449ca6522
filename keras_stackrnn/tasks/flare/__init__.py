"""Recognition of formal languages, as `recognition/<name>`: labelled strings by FLaRe's rules."""

from keras_stackrnn.tasks.flare import (  # noqa: F401 they register
    dyck,
    modular_arithmetic,
    parity,
    twice,
)
