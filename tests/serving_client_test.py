"""Clients: this project's own, and ones that nobody here wrote."""

import io
import os
import pathlib
import subprocess
import sys

import grpc
import numpy as np
import ovmsclient
import pytest
import serving_fixtures as fixtures
import trustme
from absl import app, flags

from keras_stackrnn.serving import client as client_module
from keras_stackrnn.serving import config
from keras_stackrnn.serving.batching import BatchingOptions
from keras_stackrnn.serving.client import Client
from keras_stackrnn.serving.client_sessions import KeptSession, run_command


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("client") / "m"
    root.mkdir()
    for version in (1, 2):
        fixtures.save_next_symbol(root / str(version), scale=float(version))
    models = config.single_model("m", root)
    model = models.model_config_list.config[0]
    model.model_version_policy.all.SetInParent()
    model.version_labels["stable"] = 1
    batching = BatchingOptions(pad_variable_length_inputs=True)
    with fixtures.RunningServer(models, batching=batching) as running:
        yield running


@pytest.fixture
def client(server):
    with Client(server.address, "m") as connected:
        yield connected


SEQUENCES = [[0, 1, 1], [2], [3, 3, 3, 4]]


def test_predict_tokens(client):
    outputs = client.predict(SEQUENCES)
    assert outputs["next_token"].tolist() == [1, 2, 3]
    for row, sequence in zip(outputs["probabilities"], SEQUENCES, strict=True):
        expected = fixtures.expected_probabilities(sequence, 2.0)
        np.testing.assert_allclose(row, expected, atol=1e-6)


def test_predict_text(client):
    outputs = client.predict(["abb", "c"])
    assert outputs["next_symbol"].tolist() == [b"b", b"c"]
    expected = fixtures.expected_probabilities([0, 1, 1], 2.0)
    np.testing.assert_allclose(outputs["probabilities"][0], expected, atol=1e-6)


@pytest.mark.parametrize(("choice", "scale"), [({"version": 1}, 1.0), ({"label": "stable"}, 1.0)])
def test_a_client_of_one_version(server, choice, scale):
    with Client(server.address, "m", **choice) as client:
        [row] = client.predict([[1]])["probabilities"]
    np.testing.assert_allclose(row, fixtures.expected_probabilities([1], scale), atol=1e-6)


def test_version_and_label_exclude_each_other():
    with pytest.raises(ValueError, match="Give a version or a label, got version 1, label 'x'"):
        Client(model="m", version=1, label="x")


def test_score_is_as_long_as_the_sequence(client):
    for sequence, scores in zip(SEQUENCES, client.score(SEQUENCES), strict=True):
        np.testing.assert_allclose(scores["log_probabilities"], [-2.0 * t for t in sequence])
        assert scores["predictions"].tolist() == [token + 1 for token in sequence]


def test_generate(client):
    assert client.generate(["x", "y"], max_symbols=3, temperature=0.5, seed=9) == [
        "xaaa90.5",
        "yaaa90.5",
    ]


SHAPES = {"scalar": [], "rows": [None], "any": None}


@pytest.fixture(scope="module")
def echoes(tmp_path_factory):
    """A server of models that differ in the declared shape of their options."""
    root = tmp_path_factory.mktemp("echoes")
    models = config.ModelServerConfig()
    for name, shape in SHAPES.items():
        fixtures.save_echo_of_options(root / name / "1", shape)
        models.model_config_list.config.add(name=name, base_path=str(root / name))
    with fixtures.RunningServer(models) as running:
        yield running


@pytest.mark.parametrize("name", SHAPES)
def test_options_have_the_shape_that_the_signature_declares(echoes, name):
    with Client(echoes.address, name) as client:
        sent = client.generate(["x", "y"], max_symbols=3, temperature=0.5, seed=9)
        batch_sizes = client.session(batch_size=2).state["sent"]
    if name == "scalar":
        assert sent == ["3", "0.5", "9"]
        np.testing.assert_array_equal(batch_sizes, np.int32(2), strict=True)
    else:
        assert sent == ["[3 3]", "[0.5 0.5]", "[9 9]"]
        np.testing.assert_array_equal(batch_sizes, np.array([2, 2], np.int32), strict=True)


def test_a_session_predicts_what_the_whole_sequence_would(client):
    session = client.session(batch_size=2)
    session.step([[0, 1], [2]])
    session.step([[], [2, 2]])
    outputs = session.step([[1], [4]])
    assert set(outputs) == {"probabilities"}
    for row, sequence in zip(outputs["probabilities"], [[0, 1, 1], [2, 2, 2, 4]], strict=True):
        expected = fixtures.expected_probabilities(sequence, 2.0)
        np.testing.assert_allclose(row, expected, atol=1e-6)


def test_a_session_sends_only_what_is_new(client):
    session = client.session()
    sizes = []
    call = client.call
    client.call = lambda signature, inputs, **kwargs: (
        sizes.append(sum(array.nbytes for array in inputs.values())),
        call(signature, inputs, **kwargs),
    )[1]
    for _ in range(50):
        session.step([[1]])
    assert set(sizes) == {sizes[0]}


def test_a_session_stays_with_its_version(client):
    session = client.session()
    assert session._version == 2
    session._version = 7
    with pytest.raises(grpc.RpcError) as caught:
        session.step([[1]])
    assert caught.value.details() == "Servable not found for request: Specific(m, 7)"


def test_a_session_refuses_another_number_of_sequences(client):
    with pytest.raises(ValueError, match="A session of 1 sequences got 2 of them"):
        client.session().step([[1], [1]])
    with pytest.raises(ValueError, match="batch_size must be a positive integer, got 0"):
        client.session(batch_size=0)


def test_watch_draws_bars_after_each_key(client):
    output = io.StringIO()
    client_module.watch(client, "ab\x7fz\nc\x04d", output)
    text = output.getvalue()
    prompts = [line for line in text.splitlines() if line.startswith(">")]
    assert prompts == ["> ", "> a", "> ab", "> a", "> az", "> ", "> c"]
    after_a = text.split("> a\n")[1].splitlines()[0]
    probability = fixtures.expected_probabilities([0], 2.0)[0]
    assert after_a == f"{'a'!r:>8} {probability:6.1%} {'█' * round(probability * 40)}"
    assert "is not in [0, 5)" in text.split("> az\n")[1].splitlines()[0]


def command_line(*arguments, typed=""):
    """What the client's command prints."""
    result = subprocess.run(
        [sys.executable, "-m", "keras_stackrnn.serving.client", *arguments],
        input=typed,
        cwd=pathlib.Path(client_module.__file__).resolve().parent.parent,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_command_line(server):
    printed = command_line(f"--server={server.address}", "--model=m", "--watch", typed="ab\n")
    assert "> ab\n" in printed
    assert "█" in printed


def test_the_command_line_over_tls(tmp_path):
    root = tmp_path / "m"
    root.mkdir()
    fixtures.save_next_symbol(root / "1", scale=1.0)
    authority = trustme.CA()
    of_server, of_client = authority.issue_cert("127.0.0.1"), authority.issue_cert("client")
    pems = {
        "tls_ca": authority.cert_pem,
        "tls_key": of_client.private_key_pem,
        "tls_certificate": of_client.cert_chain_pems[0],
    }
    for name, pem in pems.items():
        pem.write_to_path(tmp_path / name)
    ssl = config.SSLConfig(
        server_key=of_server.private_key_pem.bytes().decode(),
        server_cert=of_server.cert_chain_pems[0].bytes().decode(),
        custom_ca=authority.cert_pem.bytes().decode(),
        client_verify=True,
    )
    with fixtures.RunningServer(config.single_model("m", root), ssl=ssl) as running:
        files = [f"--{name}={tmp_path / name}" for name in pems]
        address = f"--server={running.address}"
        printed = command_line(address, "--model=m", "--tls", *files, "predict", "ab")
    assert printed.startswith("ab\n")
    assert "█" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tls_ca=x"], "--tls_ca is set without --tls."),
        (["--tls", "--tls_key=x"], "--tls_key and --tls_certificate go together"),
        (["--tls", "--tls_ca=/no/such"], "Cannot read /no/such: No such file"),
    ],
)
def test_tls_flags_that_make_no_sense(arguments, message):
    values = flags.FlagValues()
    client_module.define_flags(values)
    values(["client", *arguments])
    with pytest.raises(app.UsageError, match=message):
        client_module.credentials_from_flags(values)


def test_ovmsclient_over_grpc(server):
    other = ovmsclient.make_grpc_client(server.address)
    status = other.get_model_status("m")
    assert status[2]["state"] == "AVAILABLE"
    metadata = other.get_model_metadata("m")
    assert metadata["model_version"] == 2
    assert metadata["inputs"]["tokens"]["dtype"] == "DT_INT32"
    inputs = {"tokens": np.array([[0, 1, 1]], np.int32), "lengths": np.array([3], np.int32)}
    outputs = other.predict(inputs, "m")
    expected = fixtures.expected_probabilities([0, 1, 1], 2.0)
    np.testing.assert_allclose(outputs["probabilities"], [expected], atol=1e-6)
    assert outputs["next_token"].tolist() == [1]
    outputs = other.predict(inputs, "m", model_version=1)
    expected = fixtures.expected_probabilities([0, 1, 1], 1.0)
    np.testing.assert_allclose(outputs["probabilities"], [expected], atol=1e-6)


def test_ovmsclient_sees_the_servers_errors(server):
    other = ovmsclient.make_grpc_client(server.address)
    with pytest.raises(
        ovmsclient.tfs_compat.base.errors.ModelNotFoundError, match=r"Specific\(x, 0\)"
    ):
        other.predict({"tokens": np.array([[1]], np.int32)}, "x")


def test_ovmsclient_over_rest(server):
    other = ovmsclient.make_http_client(server.rest_url.removeprefix("http://"))
    assert other.get_model_status("m")[1]["state"] == "AVAILABLE"
    inputs = {"tokens": np.array([[0, 1, 1]], np.int32), "lengths": np.array([3], np.int32)}
    outputs = other.predict(inputs, "m")
    expected = fixtures.expected_probabilities([0, 1, 1], 2.0)
    np.testing.assert_allclose(outputs["probabilities"], [expected], atol=1e-6)


def test_a_kept_session_predicts_what_the_whole_sequence_would(client):
    with client.kept_session(batch_size=2) as session:
        session.step([[0, 1], [2]])
        state = session.state()
        assert state["counts"].tolist() == [[1, 1, 0, 0, 0], [0, 0, 1, 0, 0]]
        session.step([[3], [3, 3]])
        session.put_back(state)
        session.step([[], [2, 2]])
        outputs = session.step([[1], [4]])
    assert set(outputs) == {"probabilities"}
    for row, sequence in zip(outputs["probabilities"], [[0, 1, 1], [2, 2, 2, 4]], strict=True):
        expected = fixtures.expected_probabilities(sequence, 2.0)
        np.testing.assert_allclose(row, expected, atol=1e-6)
    with pytest.raises(grpc.RpcError, match=f"There is no session {session.id} of m"):
        session.step([[1], [1]])


def test_a_kept_session_moves_and_stays_there(client):
    with client.kept_session() as session:
        session.step([[0, 1]])
        session.move(1)
        for sequence in ([0, 1, 1], [0, 1, 1, 1]):
            [row] = session.step([[1]])["probabilities"]
            expected = fixtures.expected_probabilities(sequence, 1.0)
            np.testing.assert_allclose(row, expected, atol=1e-6)


def test_a_kept_session_starts_from_a_state_of_another(client):
    with client.kept_session() as first, KeptSession(client) as second:
        first.step([[0, 1]])
        second.start(first.state())
        [row] = second.step([[1]])["probabilities"]
    expected = fixtures.expected_probabilities([0, 1, 1], 2.0)
    np.testing.assert_allclose(row, expected, atol=1e-6)
    with pytest.raises(ValueError, match="batch_size must be a positive integer, got 0"):
        client.kept_session(batch_size=0)


def test_the_session_commands(client, tmp_path, capsys):
    run_command(client, ["start"])
    key = capsys.readouterr().out.strip()
    run_command(client, ["step", key, "0,1"])
    run_command(client, ["save", key, str(tmp_path / "state")])
    run_command(client, ["step", key, "3,3,3"])
    run_command(client, ["load", key, str(tmp_path / "state")])
    run_command(client, ["move", key, "1"])
    capsys.readouterr()
    run_command(client, ["step", key, "1"])
    probabilities = fixtures.expected_probabilities([0, 1, 1], 1.0)
    assert capsys.readouterr().out.splitlines()[0] == f"     1 {probabilities[1]:6.1%}"
    run_command(client, ["end", key])
    for wrong in (["start", "x"], ["step", key], ["end", "x"], ["move", key, "x"], ["y"]):
        with pytest.raises(app.UsageError, match="Expected session start, step ID TOKENS, save"):
            run_command(client, wrong)
