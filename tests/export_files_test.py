"""Exports as files: vocabularies, versions, and the processes that write and read them."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import grpc
import keras
import numpy as np
import pytest
import tensorflow as tf
from export_fixtures import (
    VOCABULARY,
    Exported,
    assert_close,
    make_model,
    request_of,
    sequences,
    text_of,
)
from serving_fixtures import RunningServer
from test_case import raises_only, run_python

from keras_stackrnn.export import export
from keras_stackrnn.export.saved_model import Export
from keras_stackrnn.export.versions import write_version
from keras_stackrnn.export.warmup import RECORDS
from keras_stackrnn.serving import config
from keras_stackrnn.serving.batching import BatchingOptions
from keras_stackrnn.serving.client import Client


def small_model(vocabulary=VOCABULARY, **config):
    return make_model(vocabulary, **{"kind": "rnn", **config})


def export_and_load(model, folder):
    return Exported(model, export(model, folder / "m"))


def test_weights_may_change_until_it_is_written(tmp_path):
    first, last = (make_model(kind="stack", memories=2, seed=seed) for seed in (1, 2))
    on_its_way = Export(first)
    assert "trace" in on_its_way.signatures
    on_its_way.set_weights(last.get_weights())
    exported = Exported(last, on_its_way.write(tmp_path / "m"))
    row = [0, 1, 1, 2]
    for signature in ("serving_default", "step"):
        state = exported.in_session("initial_state", batch_size=np.int32(1))
        inputs = request_of([row]) | (state if signature == "step" else {})
        found = exported.in_session(signature, **inputs)["probabilities"][0]
        assert_close(found, exported.reference.probabilities(row)[-1])


def test_words_are_set_apart_by_white_space(tmp_path):
    exported = export_and_load(small_model(["<unk>", "the", "a", "cat", "<eos>"]), tmp_path)
    texts = [b"the  cat\n<eos> a", "the größte <unk> cat".encode()]
    outputs = exported.in_session("predict_text", text=texts)
    for i, row in enumerate([[1, 3, 4, 2], [1, 0, 0, 3]]):
        assert_close(outputs["probabilities"][i], exported.reference.probabilities(row)[-1])
    options = {"max_symbols": np.int32(4), "temperature": np.float32(9), "seed": np.int64(1)}
    text = exported.in_session("generate", text=[b"the"], **options)["text"][0].decode()
    assert len(text.split(" ")) == 4
    assert set(text.split(" ")) <= set(exported.model.vocabulary)
    state, symbols, written = exported.in_session("initial_state", batch_size=np.int32(1)), [], b""
    for position, prompt in enumerate(["the", "", "", ""]):
        part = exported.in_session(
            "generate_on",
            text=[prompt.encode()],
            **{**options, "max_symbols": np.int32(1), "position": np.int64(position), **state},
        )
        state = {name: part[name] for name in state}
        symbols.append(part["symbols"][0, 0].decode())
        written += part["written"][0, 0]
    assert symbols == text.split(" ")
    assert written.decode() == text


def test_the_end_of_a_line_ends_a_line_of_characters(tmp_path):
    letters = [chr(ord("a") + i) for i in range(26)]
    exported = export_and_load(small_model([*letters, "é", " ", "<eos>"]), tmp_path)
    outputs = exported.in_session("predict_text", text=["é a\nb".encode()])
    expected = exported.reference.probabilities([26, 27, 0, 28, 1])[-1]
    assert_close(outputs["probabilities"][0], expected)
    assert outputs["top_symbols"].shape == outputs["top_probabilities"].shape == (1, 10)
    options = {"max_symbols": np.int32(200), "temperature": np.float32(50), "seed": np.int64(1)}
    text = exported.in_session("generate", text=[b""], **options)["text"][0].decode()
    assert len(text) == 200
    assert {"é", " ", "\n"} < set(text)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected one of 29 symbols, got !"):
        exported.in_session("predict_text", text=[b"a!"])


def test_the_configuration_is_there_to_be_read(exports):
    path = exports("stack rounded").path / "assets.extra" / "model.json"
    described = json.loads(path.read_text())
    assert described["vocabulary"] == list(VOCABULARY)
    assert (described["rounding"], described["capacity"]) == (True, None)


def test_the_client_can_ask_for_everything(exports):
    """Over the wire, from a server that merges requests and pads them."""
    exported, rows = exports("stack rounded"), sequences([3, 5])
    texts = [text_of(row).decode() for row in rows]
    batching = BatchingOptions(pad_variable_length_inputs=True)
    models = config.single_model("m", exported.path.parent)
    with RunningServer(models, batching=batching) as server, Client(server.address, "m") as client:
        for outputs in (client.predict(rows), client.predict(texts)):
            for probabilities, row in zip(outputs["probabilities"], rows, strict=True):
                assert_close(probabilities, exported.reference.probabilities(row)[-1])
        for scores, row in zip(client.score(rows), rows, strict=True):
            expected = exported.reference.probabilities(row).argmax(axis=1)
            assert scores["predictions"].tolist() == expected.tolist()
        assert [len(text) for text in client.generate(texts, max_symbols=7)] == [7, 7]
        session = client.session(batch_size=2)
        session.step([rows[0][:1], rows[1][:4]])
        outputs = session.step([rows[0][1:], rows[1][4:]])
        for probabilities, row in zip(outputs["probabilities"], rows, strict=True):
            assert_close(probabilities, exported.reference.probabilities(row)[-1])
        with pytest.raises(grpc.RpcError) as caught:
            client.predict(["a!"])
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert "Unknown symbol: expected one of a b ., got !" in caught.value.details()


STEPS_ELSEWHERE = """
import json, sys
import tensorflow as tf
model = tf.saved_model.load(sys.argv[1])
row = json.loads(sys.argv[2])
states = model.signatures["initial_state"](batch_size=tf.constant(1))
for token in row:
    states = model.signatures["step"](
        tokens=tf.constant([[token]]), lengths=tf.constant([1]), **states
    )
    probabilities = states.pop("probabilities")
assert "keras_stackrnn" not in sys.modules
print(json.dumps(probabilities.numpy()[0].tolist()))
"""


def test_another_process_needs_nothing_but_tensorflow(exports):
    exported, row = exports("list rounded"), sequences([12])[0]
    printed = run_python("-c", STEPS_ELSEWHERE, str(exported.path), json.dumps(row))
    assert_close(json.loads(printed), exported.reference.probabilities(row)[-1])


# All in one process: most of the command's time goes into the import of TensorFlow.
SAVED_MODEL_CLI = """
import json, sys
from tensorflow.python.tools import saved_model_cli
for arguments in json.loads(sys.argv.pop()):
    saved_model_cli.create_parser().parse_args(arguments).func()
"""


def test_saved_model_cli_runs_signatures(exports, tmp_path):
    exported = exports("stack rounded")
    tokens = request_of([[0, 1, 1], [2]])
    text = {"text": np.array([b"abb", b"."])}
    options = {"max_symbols": np.int32(5), "temperature": np.float32(1), "seed": np.int64(7)}
    state = exported.in_session("initial_state", batch_size=np.int32(2))
    forced = {"forced": np.full((2, 3, exported.model.memories), -1, np.int32)}
    two = {"batch_size": np.int32(2)}
    requests = {
        "serving_default": tokens,
        "predict_text": text,
        "step": {**tokens, **state},
        "initial_state": two,
        "generate": {**text, **options},
        "trace_on": {**tokens, **forced, **state},
    }
    commands = []
    for signature, request in requests.items():
        folder = tmp_path / signature
        folder.mkdir()
        inputs = {name: folder / f"of_{name}.npy" for name in request}
        for name, array in request.items():
            np.save(inputs[name], array)
        commands.append(
            [
                *("run", "--dir", str(exported.path), "--tag_set", "serve"),
                *("--signature_def", signature, "--outdir", str(folder)),
                *("--inputs", ";".join(f"{name}={path}" for name, path in inputs.items())),
            ]
        )
    run_python("-c", SAVED_MODEL_CLI, json.dumps(commands))
    for signature, request in requests.items():
        for name, value in exported.in_session(signature, **request).items():
            written = np.load(tmp_path / signature / f"{name}.npy", allow_pickle=True)
            np.testing.assert_array_equal(written, value)


EXPORTS_FOR_EVER = """
import itertools, sys
from keras_stackrnn.export import export
from keras_stackrnn.models import NextSymbolModel
model = NextSymbolModel("rnn", "ab", units=2)
for _ in itertools.count():
    export(model, sys.argv[1])
"""


def test_a_killed_export_leaves_no_half_version(tmp_path):
    """Whoever looks, at any time, finds whole versions only."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", EXPORTS_FOR_EVER, str(tmp_path)]
    with subprocess.Popen(command, env=environment) as process:
        try:
            # The second export has its folder for about as long as it takes.
            while process.poll() is None and not is_writing_the_second(tmp_path):
                assert all(is_whole(path) for path in versions(tmp_path))
                time.sleep(0.001)
        finally:
            process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert {path.name for path in versions(tmp_path)} == {"1"}
    assert all(is_whole(path) for path in versions(tmp_path))
    assert export(small_model(), tmp_path).name == "2"
    assert {path.name for path in tmp_path.iterdir()} == {"1", "2"}


def test_exports_at_the_same_time_leave_each_other_alone(tmp_path):
    def write_another(folder):
        (folder / "content").touch()
        write_version(tmp_path, None, lambda folder: (folder / "content").touch())
        assert (folder / "content").exists()

    write_version(tmp_path, None, write_another)
    assert {path.name for path in tmp_path.iterdir()} == {"1", "2"}


def versions(folder):
    return [path for path in folder.iterdir() if path.name.isdecimal()]


def is_writing_the_second(folder):
    started = [path for path in folder.iterdir() if not path.name.isdecimal()]
    return bool(versions(folder) and started)


def is_whole(path):
    files = ("saved_model.pb", "variables/variables.index", RECORDS, "assets.extra/model.json")
    return all((path / file).stat().st_size for file in files)


def test_the_next_version_is_one_more_than_the_latest(tmp_path):
    for name in ("3", "00007", "x9", "-12"):
        (tmp_path / name).mkdir()
    write_version(tmp_path, None, lambda folder: (folder / "content").touch())
    write_version(tmp_path, 5, lambda folder: (folder / "content").touch())
    message = (
        f"There is a version 5 in {tmp_path} already: expected a new number, or none for the next "
        "free one."
    )
    with pytest.raises(FileExistsError, match=f"^{re.escape(message)}$"):
        export(small_model(), tmp_path, version=5)
    assert {path.name for path in tmp_path.iterdir()} == {"3", "00007", "x9", "-12", "8", "5"}


def test_exports_at_the_same_time_do_not_clobber_each_other(tmp_path):
    everybody = threading.Barrier(8)
    paths = []

    def write(content, version):
        def fill(folder):
            (folder / "content").write_text(content)
            everybody.wait()

        with contextlib.suppress(FileExistsError):
            paths.append((write_version(tmp_path, version, fill), content))

    calls = [(str(i), None if i < 6 else 1) for i in range(8)]
    threads = [threading.Thread(target=write, args=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({path for path, _ in paths}) == len(paths) >= 6
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(p.name for p, _ in paths)
    assert all((path / "content").read_text() == content for path, content in paths)


def test_a_failed_export_leaves_nothing(tmp_path):
    def fail(folder):
        (folder / "content").write_text("half")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        write_version(tmp_path, None, fail)
    assert not list(tmp_path.iterdir())


def test_bad_arguments_are_named(tmp_path):
    with raises_only(
        "Received an invalid value for argument `version`: expected a positive integer, got 0."
    ):
        export(small_model(), tmp_path, version=0)
    with raises_only(
        "Argument `rounding` rounds the actions on a memory, which only the kinds ('stack', "
        "'list', 'tape', 'editor', 'queue') have, got rounding=True with kind 'rnn'."
    ):
        export(small_model(), tmp_path, rounding=True)
    with raises_only(
        "A vocabulary of words is written with spaces between them: expected words without white "
        "space, got 'a b'."
    ):
        export(small_model(["a b", "c"]), tmp_path)
    keras.config.set_dtype_policy("float64")
    with raises_only(
        "A model is served in float32: expected one that computes in it, got one in float64."
    ):
        export(small_model(), tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_command_adds_a_version_that_mixes_or_rounds(tmp_path):
    make_model(kind="stack", memories=1).save(tmp_path / "model.keras")
    for rounding in ("--rounding", "--norounding"):
        run_python(
            *("-m", "keras_stackrnn.export", rounding),
            f"--model={tmp_path / 'model.keras'}",
            f"--base_path={tmp_path / 'm'}",
        )
    descriptions = [tmp_path / "m" / v / "assets.extra" / "model.json" for v in ("1", "2")]
    assert [json.loads(each.read_text())["rounding"] for each in descriptions] == [True, False]
