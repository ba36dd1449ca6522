"""The names that signatures have for what Keras users pass."""

from collections.abc import Callable
from typing import Any

Tensor = Any  # of whichever backend Keras has
Count = int | Tensor  # that may not be known before the run
Activation = str | Callable[..., Any] | None
Initializer = str | dict[str, Any] | Callable[..., Any]
Regularizer = str | dict[str, Any] | Callable[..., Any] | None
Constraint = str | dict[str, Any] | Callable[..., Any] | None
Controller = Any  # a name, or a Keras cell
