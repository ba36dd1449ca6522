"""Several processes that train one language model together, on one machine or on many.

Each reads its share of the lanes. Gradients are added up by TensorFlow's collectives, and clipped
and applied by all alike, so that every worker has the same weights after every update. The first
worker leads: it keeps the run's folder, validates, and tells the others what comes next.
"""
