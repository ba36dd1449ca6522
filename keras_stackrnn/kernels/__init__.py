"""TensorFlow programs for whole sequences: soft and rounded, for one model or a population."""
