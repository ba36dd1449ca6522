"""The cells and the whole-sequence layers, as Keras users meet them."""
