"""Signatures to watch a model by: read on and told, with forced actions, and its description."""

import json

import keras
import numpy as np
import pytest
from export_fixtures import VOCABULARY, assert_close, request_of, sequences, text_of

if keras.backend.backend() != "tensorflow":
    pytest.skip("models are exported with TensorFlow alone", allow_module_level=True)

import tensorflow as tf

from keras_stackrnn import trace

ROW = sequences([9])[0]


@pytest.fixture(params=["stack", "list rounded", "stack piled", "rnn"])
def exported(request, exports):
    return exports(request.param)


@pytest.fixture(params=["stack", "list rounded", "stack piled"])
def remembering(request, exports):
    return exports(request.param)


def described(exported):
    [description] = exported.in_session("describe", batch_size=np.int32(1))["model"]
    return json.loads(description)


def nothing_forced(exported, steps, batch=1):
    names = described(exported)["memories"]
    return {"forced": np.full((batch, steps, len(names)), -1, np.int32)} if names else {}


def in_parts(exported, row, lengths, forced):
    """The outputs for each part of a row, its state being carried on."""
    states, done = exported.in_session("initial_state", batch_size=np.int32(1)), 0
    for length in lengths:
        part = {name: each[:, done : done + length] for name, each in forced.items()}
        asked = request_of([row[done : done + length]])
        outputs = exported.in_session("trace_on", **asked, **part, **states)
        states = {name: outputs.pop(name) for name in states}
        done += length
        yield outputs


def test_parts_of_a_text_tell_what_a_trace_of_all_of_it_does(exported):
    told = list(in_parts(exported, ROW, [4, 1, 1, 3], nothing_forced(exported, len(ROW))))
    if not described(exported)["memories"]:
        assert set(told[0]) == {"probabilities"}
        joined = np.concatenate([each["probabilities"][0] for each in told])
        return assert_close(joined, exported.reference.probabilities(ROW))
    whole = exported.in_session("trace", text=[text_of(ROW)])
    for name in told[0]:
        assert_close(np.concatenate([each[name] for each in told], axis=1), whole[name])
    return None


def test_forced_actions_are_taken_and_have_their_consequences(remembering):
    description = described(remembering)
    names = [action["name"] for action in description["memory"]["actions"]]
    forced = nothing_forced(remembering, len(ROW))
    forced["forced"][0, 2, 0], forced["forced"][0, 5, 1] = 1, 0
    expected = trace(
        remembering.model,
        text_of(ROW).decode(),
        force={
            description["memories"][0]: {2: names[1]},
            description["memories"][1]: {5: names[0]},
        },
    )

    told = list(in_parts(remembering, ROW, [3, 2, 4], forced))

    for name in ("probabilities", "actions"):
        joined = np.concatenate([each[name][0] for each in told])
        if name == "probabilities":
            assert_close(joined, expected.probabilities)
            continue
        for place, memory in enumerate(expected.memories):
            assert_close(joined[:, place], memory.weights)
    # Rows of a request may differ in what is forced on them, and say only as much as they have to.
    both = np.concatenate([forced["forced"], np.full_like(forced["forced"], -1)])[:, :6]
    after = remembering.in_session("force", **request_of([ROW, ROW]), forced=both)
    assert_close(after["probabilities"][0], expected.probabilities[-1])
    assert_close(after["probabilities"][1], remembering.reference.probabilities(ROW)[-1])


def test_actions_that_are_not_there_cannot_be_forced(exports):
    exported = exports("stack")
    forced = nothing_forced(exported, len(ROW))["forced"]
    for wrong, message in ((3, "expected -1 to 2, got 3"), (-2, "got -2")):
        asked = {**request_of([ROW]), "forced": np.where(forced == -1, wrong, forced)}
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"Unknown forced .*{message}"):
            exported.in_session("force", **asked)
    longer = np.full((1, len(ROW) + 1, forced.shape[2]), -1, np.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="for no more symbols than they have"):
        exported.in_session("force", **request_of([ROW]), forced=longer)


def test_a_model_describes_itself(exported):
    model, description = exported.model, described(exported)

    assert description["symbols"] == description["answers"] == list(VOCABULARY)
    assert (description["form"], description["marks"]) == ("next_symbol", 0)
    assert description["rounding"] == model.rounding
    assert len(description["memories"]) == model.has_memory * model.memories * model.num_layers
    if not model.has_memory:
        assert description["memory"] is None
        return
    kind = model.recurrent[0].cell.layout.kind
    actions = description["memory"]["actions"]
    assert [each["name"] for each in actions] == list(kind.action_names)
    assert [each["role"] for each in actions] == [kind.role(name) for name in kind.action_names]
