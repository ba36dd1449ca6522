"""Tests that saved models load where nothing of them is known yet but that the package is there."""

import keras
import pytest
from test_case import assert_load_in_a_fresh_process, random, randomise

if keras.backend.backend() != "tensorflow":
    pytest.skip("layers are saved and loaded with TensorFlow", allow_module_level=True)

from keras_stackrnn import ListCell, ListRNN, StackCell, StackRNN

FEATURES = 3


def model_of(*layers, time=None):
    model = keras.Sequential([keras.Input((time, FEATURES)), *layers])
    model.add(keras.layers.Dense(2, activation="softmax"))
    randomise(model)
    return model


def rnn_of(*cells):
    return keras.layers.RNN(cells, return_sequences=True)


def cells():
    yield model_of(rnn_of(StackCell(4, num_stacks=2, capacity=6, no_op=True, use_bias=True)))
    yield model_of(rnn_of(ListCell(4, num_lists=2, capacity=6, read_depth=3, rounding=True)))
    inputs = keras.Input((None, FEATURES))
    two = rnn_of(StackCell(4, num_stacks=2), ListCell(3))
    both = keras.layers.Bidirectional(keras.layers.RNN(StackCell(2, push_initializer="ones")))
    model = keras.Model(inputs, both(two(inputs)))
    randomise(model)
    yield model


def layers():
    yield model_of(StackRNN(4, 2, no_op=True, use_bias=True, return_sequences=True), time=6)
    yield model_of(ListRNN(4, 2, 6, read_depth=3, rounding=True))
    two = [StackRNN(4, 2, capacity=3, return_sequences=True), ListRNN(3)]
    yield model_of(two[0], keras.layers.Bidirectional(two[1]), time=6)


def test_saved_models_load_in_a_fresh_process_without_custom_objects(tmp_path):
    models = {str(number): model for number, model in enumerate([*cells(), *layers()])}
    assert_load_in_a_fresh_process(models, random(2, 6, FEATURES), tmp_path)
