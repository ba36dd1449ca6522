"""Many runs: tasks, models and seeds, one on each core, each as if it had been started alone."""

from keras_stackrnn.training.sweep.sweep import Sweep

__all__ = ["Sweep"]
