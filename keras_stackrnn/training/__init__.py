"""Training: streams of windows, recipes, restarts, checkpoints and the loop."""
