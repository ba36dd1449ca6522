"""N-grams: the count-based rows of the language-modelling table, on NumPy alone."""

from keras_stackrnn.ngram.cache import Cache
from keras_stackrnn.ngram.kneser_ney import KneserNey

__all__ = ["Cache", "KneserNey"]
