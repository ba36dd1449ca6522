"""The server's life: versions, labels, reloads, swaps, warm-up, TLS, sockets, flags and signals."""

import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import grpc
import numpy as np
import pytest
import requests
import serving_fixtures as fixtures
import tensorflow as tf
import trustme
from absl import flags
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_management_pb2,
    prediction_log_pb2,
    prediction_service_pb2_grpc,
)

from keras_stackrnn.serving import config, models, server, status
from keras_stackrnn.serving.batching import BatchingOptions

Code = grpc.StatusCode
State = get_model_status_pb2.ModelVersionStatus
PATIENCE_SECONDS = 120  # on a machine that is busy with something else


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> dict[int, pathlib.Path]:
    """Versions 1 to 3, whose scale is their number; copied into place by the tests."""
    root = tmp_path_factory.mktemp("exported")
    return {v: fixtures.save_next_symbol(root / str(v), scale=float(v)) for v in (1, 2, 3)}


@pytest.fixture
def base(tmp_path) -> pathlib.Path:
    path = tmp_path / "m"
    path.mkdir()
    return path


def install(source: pathlib.Path, base: pathlib.Path, version: int) -> None:
    aside = base / f"{version}.writing"
    shutil.copytree(source, aside)
    aside.rename(base / str(version))


def wait_until(condition) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def states(running, name="m") -> dict[int, int]:
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = name
    try:
        response = running.management.GetModelStatus(request)
    except grpc.RpcError:
        return {}
    return {entry.version: entry.state for entry in response.model_version_status}


def available(running, name="m") -> set[int]:
    return {v for v, state in states(running, name).items() if state == State.AVAILABLE}


def failure(call, *arguments, **kwargs) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments, **kwargs)
    return caught.value.code(), caught.value.details()


def served_version(running, **spec) -> int:
    request = fixtures.sequence_request([1])
    for name, value in spec.items():
        setattr(request.model_spec, name, value)
    return running.prediction.Predict(request, timeout=PATIENCE_SECONDS).model_spec.version.value


def reload(running, server_config) -> None:
    request = model_management_pb2.ReloadConfigRequest(config=server_config)
    running.management.HandleReloadConfigRequest(request, timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("", {3}),
        ("latest { num_versions: 2 }", {2, 3}),
        ("all {}", {1, 2, 3}),
        ("specific { versions: 1 versions: 3 versions: 9 }", {1, 3}),
    ],
)
def test_version_policies(exported, base, policy, expected):
    for version, path in exported.items():
        install(path, base, version)
    (base / "notes").mkdir()
    (base / "4.writing").mkdir()
    (base / "5").write_text("not a folder")
    models_config = config.single_model("m", base)
    parsed = config.text_format.Parse(policy, type(_model(models_config).model_version_policy)())
    _model(models_config).model_version_policy.CopyFrom(parsed)
    with fixtures.RunningServer(models_config) as running:
        assert available(running) == expected
        assert served_version(running) == max(expected)


def _model(models_config):
    return models_config.model_config_list.config[0]


def test_versions_come_and_go(exported, base):
    install(exported[1], base, 1)
    with fixtures.RunningServer(config.single_model("m", base)) as running:
        assert served_version(running) == 1
        install(exported[2], base, 2)
        wait_until(lambda: states(running) == {1: State.END, 2: State.AVAILABLE})
        assert served_version(running) == 2
        shutil.rmtree(base / "2")
        wait_until(lambda: available(running) == {1})
        reload(running, config.ModelServerConfig(model_config_list={}))
        wait_until(lambda: not available(running))
        assert failure(served_version, running) == (
            Code.NOT_FOUND,
            "Servable not found for request: Latest(m)",
        )


@pytest.mark.parametrize("fault", ["gone", "a file", "empty"])
def test_a_base_path_that_is_gone_for_a_moment_keeps_what_is_served(exported, base, fault, caplog):
    install(exported[1], base, 1)
    aside = base.with_name("aside")
    with fixtures.RunningServer(config.single_model("m", base)) as running:
        base.rename(aside)
        if fault == "a file":
            base.write_text("")
        if fault == "empty":
            base.mkdir()
        wait_until(lambda: "what is served stays" in caplog.text)
        time.sleep(0.2)  # the folder is looked at every 0.05 s
        assert served_version(running) == 1
        assert caplog.text.count("what is served stays") == 1
        if fault == "a file":
            base.unlink()
        if fault == "empty":
            base.rmdir()
        aside.rename(base)
        install(exported[2], base, 2)
        wait_until(lambda: available(running) == {2})


def test_two_folders_of_the_same_version_are_reported(exported, base, caplog):
    install(exported[2], base, 1)
    shutil.copytree(exported[1], base / "00001")
    with fixtures.RunningServer(config.single_model("m", base)) as running:
        assert available(running) == {1}
        response = running.prediction.Predict(fixtures.sequence_request([1]))
        expected = fixtures.expected_probabilities([1], 2.0)
        got = fixtures.outputs_of(response)["probabilities"]
        np.testing.assert_allclose(got, [expected], atol=1e-6)
    assert caplog.text.count("holds both 1 and 00001, of which 1 counts") == 1


def test_names_are_escaped_in_logs(exported, base, caplog):
    caplog.set_level("INFO")
    install(exported[1], base, 1)
    name = "m\nFATAL: gone\x1b[31m"
    with fixtures.RunningServer(config.single_model(name, base)):
        pass
    messages = [record.getMessage() for record in caplog.records]
    assert any(message.startswith("Loaded {name: m\\nFATAL: gone\\x1b[31m") for message in messages)
    assert not any("\n" in message or "\x1b" in message for message in messages)


def test_no_request_fails_or_errs_while_versions_are_swapped(exported, base):
    """A short form of what `benchmarks/serving.py --swap` does 100,000 times."""
    install(exported[1], base, 1)
    stop = threading.Event()
    seen = set()

    def ask(running) -> None:
        with grpc.insecure_channel(running.address) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            while not stop.is_set():
                response = stub.Predict(fixtures.sequence_request([0, 1, 1]), timeout=30)
                version = response.model_spec.version.value
                scale = (version - 1) % 3 + 1
                expected = fixtures.expected_probabilities([0, 1, 1], scale)
                got = fixtures.outputs_of(response)["probabilities"][0]
                np.testing.assert_allclose(got, expected, atol=1e-6)
                seen.add(version)

    with (
        fixtures.RunningServer(config.single_model("m", base)) as running,
        concurrent.futures.ThreadPoolExecutor(4) as pool,
    ):
        askers = [pool.submit(ask, running) for _ in range(4)]
        try:
            for version in range(1, 10):
                if version > 1:
                    install(exported[(version - 1) % 3 + 1], base, version)
                wait_until(lambda version=version: version in seen or askers[0].done())
        finally:
            stop.set()
        for asker in askers:
            asker.result()
    assert seen == set(range(1, 10))


def test_a_request_finishes_on_the_version_it_started_on(exported, base):
    install(exported[1], base, 1)
    with fixtures.RunningServer(config.single_model("m", base)) as running:
        request = fixtures.predict_request(signature="spin", rounds=np.array([100_000], np.int32))
        slow = running.prediction.Predict.future(request, timeout=60)
        wait_until(lambda: running.server.models._servables["m"][1].leases == 1)
        install(exported[2], base, 2)
        wait_until(lambda: 2 in available(running))
        assert slow.result().model_spec.version.value == 1
        wait_until(lambda: states(running)[1] == State.END)


def test_a_version_that_does_not_load_leaves_the_old_one_in_place(exported, base):
    install(exported[1], base, 1)
    options = models.Options(file_system_poll_wait_seconds=0.05, load_retry_interval_seconds=0.1)
    with fixtures.RunningServer(config.single_model("m", base), versions=options) as running:
        (base / "2").mkdir()
        wait_until(lambda: states(running).get(2) == State.END)
        assert served_version(running) == 1
        request = get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = "m"
        request.model_spec.version.value = 2
        [entry] = running.management.GetModelStatus(request).model_version_status
        assert entry.status.error_code != 0
        assert "SavedModel" in entry.status.error_message
        shutil.copytree(exported[2], base / "2", dirs_exist_ok=True)
        wait_until(lambda: served_version(running) == 2)


def test_a_server_does_not_start_without_its_model(base, tmp_path):
    with pytest.raises(status.ServingError, match=r"Could not find base path .*nowhere for"):
        fixtures.RunningServer(config.single_model("m", tmp_path / "nowhere"))
    (base / "1").mkdir()
    with pytest.raises(status.ServingError, match=r"1 servable\(s\) did not become available"):
        fixtures.RunningServer(config.single_model("m", base))


def test_a_base_path_without_versions_is_waited_for(exported, base):
    with fixtures.RunningServer(config.single_model("m", base), health_service=True) as running:
        health = health_pb2_grpc.HealthStub(running.channel)
        request = health_pb2.HealthCheckRequest(service="PredictionService")
        assert health.Check(request).status == health_pb2.HealthCheckResponse.NOT_SERVING
        install(exported[1], base, 1)
        serving = health_pb2.HealthCheckResponse.SERVING
        wait_until(lambda: health.Check(request).status == serving)
        for name in ("", "ModelService", "tensorflow.serving.PredictionService"):
            request = health_pb2.HealthCheckRequest(service=name)
            assert health.Check(request).status == serving


def test_health_can_be_watched(exported, base):
    with fixtures.RunningServer(config.single_model("m", base), health_service=True) as running:
        request = health_pb2.HealthCheckRequest(service="PredictionService")
        watched = health_pb2_grpc.HealthStub(running.channel).Watch(
            request, timeout=PATIENCE_SECONDS
        )
        assert next(watched).status == health_pb2.HealthCheckResponse.NOT_SERVING
        install(exported[1], base, 1)
        assert next(watched).status == health_pb2.HealthCheckResponse.SERVING
        stopping = threading.Thread(target=running.server.stop, args=[PATIENCE_SECONDS])
        stopping.start()
        assert next(watched).status == health_pb2.HealthCheckResponse.NOT_SERVING
        watched.cancel()
        stopping.join()


def test_what_nobody_waits_for_is_not_run_and_not_held(exported, base):
    install(exported[1], base, 1)
    options = BatchingOptions(num_batch_threads=1)
    with fixtures.RunningServer(config.single_model("m", base), batching=options) as running:

        def leases():
            return running.server.models._servables["m"][1].leases

        endless = fixtures.predict_request(signature="spin", rounds=np.array([2**31 - 1], np.int32))
        running_call = running.prediction.Predict.future(endless, timeout=PATIENCE_SECONDS)
        wait_until(lambda: leases() == 1)
        waiting = [running.prediction.Predict.future(endless) for _ in range(3)]
        wait_until(lambda: leases() == 4)
        for call in waiting:
            call.cancel()
        wait_until(lambda: leases() == 1)
        page = running.server.service.metrics.page().decode()
        assert 'request_count{model_name="m",status="CANCELLED"} 3.0' in page
        running_call.cancel()


def test_labels_move_with_the_configuration(exported, base):
    for version in (1, 2):
        install(exported[version], base, version)
    models_config = config.single_model("m", base)
    _model(models_config).model_version_policy.all.SetInParent()
    _model(models_config).version_labels["stable"] = 1
    with fixtures.RunningServer(models_config) as running:
        assert served_version(running, version_label="stable") == 1
        _model(models_config).version_labels["stable"] = 2
        _model(models_config).version_labels["canary"] = 1
        reload(running, models_config)
        assert served_version(running, version_label="stable") == 2
        assert served_version(running, version_label="canary") == 1
        _model(models_config).version_labels["stable"] = 7
        assert failure(reload, running, models_config) == (
            Code.FAILED_PRECONDITION,
            "Request to assign label to version 7 of model m, which is not currently available "
            "for inference",
        )
        assert served_version(running, version_label="stable") == 2


def test_labels_for_unavailable_versions_can_be_allowed(exported, base):
    install(exported[1], base, 1)
    models_config = config.single_model("m", base)
    _model(models_config).version_labels["next"] = 2
    options = models.Options(
        file_system_poll_wait_seconds=0.05, allow_version_labels_for_unavailable_models=True
    )
    with fixtures.RunningServer(models_config, versions=options) as running:
        code, message = failure(served_version, running, version_label="next")
        assert (code, message) == (
            Code.NOT_FOUND,
            "Servable not found for request: Specific(m, 2)",
        )
        install(exported[2], base, 2)
        wait_until(lambda: 2 in available(running))
        assert served_version(running, version_label="next") == 2


def test_a_reload_replaces_the_set(exported, base, tmp_path):
    install(exported[1], base, 1)
    other = tmp_path / "other"
    other.mkdir()
    install(exported[2], other, 2)
    with fixtures.RunningServer(config.single_model("m", base)) as running:
        reload(running, config.single_model("n", other))
        assert served_version(running, name="n") == 2
        wait_until(lambda: not available(running, "m"))
        twice = config.single_model("n", other)
        twice.model_config_list.config.add(name="n", base_path=str(other))
        assert failure(reload, running, twice) == (
            Code.INVALID_ARGUMENT,
            "Illegal to list model n multiple times in config list",
        )
        code, _ = failure(reload, running, config.single_model("n", tmp_path / "nowhere"))
        assert code == Code.NOT_FOUND
        assert served_version(running, name="n") == 2


def _write_warmup(version_path: pathlib.Path, logs) -> None:
    extra = version_path / "assets.extra"
    extra.mkdir()
    with tf.io.TFRecordWriter(str(extra / "tf_serving_warmup_requests")) as writer:
        for log in logs:
            writer.write(log.SerializeToString())


def _predict_log(sequence) -> prediction_log_pb2.PredictionLog:
    log = prediction_log_pb2.PredictionLog()
    log.predict_log.request.CopyFrom(fixtures.sequence_request(sequence))
    return log


@pytest.mark.parametrize(
    ("logs", "error"),
    [
        ([_predict_log([1, 2])] * 1000, None),
        ([_predict_log([1, 2]), _predict_log([99])], r"99 is not in"),
        ([_predict_log([1])] * 1001, r"warmup records exceeds the maximum \(1000\)"),
        ([prediction_log_pb2.PredictionLog()], "Unsupported log_type for warmup"),
    ],
    ids=["a thousand", "a failing one", "too many", "an empty one"],
)
def test_warmup_requests_are_answered_before_the_version_is(exported, base, logs, error):
    shutil.copytree(exported[1], base / "1")
    _write_warmup(base / "1", logs)
    if error is None:
        with fixtures.RunningServer(config.single_model("m", base)) as running:
            assert served_version(running) == 1
    else:
        with pytest.raises(status.ServingError, match=error):
            fixtures.RunningServer(config.single_model("m", base))


def test_a_broken_warmup_file_fails_the_load(exported, base):
    shutil.copytree(exported[1], base / "1")
    _write_warmup(base / "1", [_predict_log([1])])
    with open(base / "1" / "assets.extra" / "tf_serving_warmup_requests", "r+b") as file:
        file.truncate(20)
    with pytest.raises(status.ServingError, match="truncated"):
        fixtures.RunningServer(config.single_model("m", base))


def test_requests_beyond_the_bound_are_refused(exported, base):
    install(exported[1], base, 1)
    models_config = config.single_model("m", base)
    with fixtures.RunningServer(models_config, max_inflight_requests=2) as running:
        request = fixtures.predict_request(signature="spin", rounds=np.array([2**31 - 1], np.int32))
        slow = [running.prediction.Predict.future(request, timeout=3) for _ in range(2)]
        wait_until(lambda: running.server.models._servables["m"][1].leases == 2)
        assert failure(served_version, running) == (
            Code.RESOURCE_EXHAUSTED,
            "Too many requests in flight: at most 2 are taken",
        )
        # Status and health are answered all the same.
        assert available(running) == {1}
        for call in slow:
            assert call.code() == Code.DEADLINE_EXCEEDED
        wait_until(lambda: running.server.models._servables["m"][1].leases == 0)
        assert served_version(running) == 1


def test_rest_requests_beyond_the_bound_are_refused(exported, base):
    install(exported[1], base, 1)
    with (
        fixtures.RunningServer(
            config.single_model("m", base), max_inflight_requests=2, rest_api_timeout_seconds=3.0
        ) as running,
        concurrent.futures.ThreadPoolExecutor(3) as pool,
    ):
        url = f"{running.rest_url}/v1/models/m:predict"
        body = {"signature_name": "spin", "instances": [2**31 - 1]}
        slow = [pool.submit(requests.post, url, json=body, timeout=30) for _ in range(2)]
        wait_until(lambda: running.server.models._servables["m"][1].leases == 2)
        assert requests.get(f"{running.rest_url}/v1/models/m", timeout=30).status_code == 429
        assert [call.result().status_code for call in slow] == [504, 504]
        assert requests.get(f"{running.rest_url}/v1/models/m", timeout=30).status_code == 200


def test_stopping_breaks_off_what_outlasts_the_grace(exported, base):
    install(exported[1], base, 1)
    running = fixtures.RunningServer(config.single_model("m", base))
    request = fixtures.predict_request(signature="spin", rounds=np.array([2**31 - 1], np.int32))
    endless = running.prediction.Predict.future(request)
    wait_until(lambda: running.server.models._servables["m"][1].leases == 1)
    running.server.stop(grace_seconds=0.1)
    assert endless.code() in (Code.CANCELLED, Code.UNAVAILABLE)
    running.channel.close()


def test_a_batch_has_a_core_beside_the_networks(tmp_path):
    def threads(**options):
        made = server._session_config(
            server.ServerOptions(config.single_model("m", "x"), **options)
        )
        return made.inter_op_parallelism_threads, made.intra_op_parallelism_threads

    assert threads() == (0, 0)
    spare = max(1, os.cpu_count() - 1)
    assert threads(batching=BatchingOptions(num_batch_threads=1)) == (1, spare)
    assert threads(batching=BatchingOptions(num_batch_threads=10**6)) == (10**6, 1)
    given = {"tensorflow_inter_op_parallelism": 3, "tensorflow_intra_op_parallelism": 5}
    assert threads(batching=BatchingOptions(), **given) == (3, 5)


def test_reflection_lists_the_services(exported, base):
    install(exported[1], base, 1)
    with fixtures.RunningServer(config.single_model("m", base)) as running:
        stub = reflection_pb2_grpc.ServerReflectionStub(running.channel)
        questions = iter(
            [
                reflection_pb2.ServerReflectionRequest(list_services=""),
                reflection_pb2.ServerReflectionRequest(
                    file_containing_symbol="tensorflow.serving.PredictionService"
                ),
            ]
        )
        listed, described = stub.ServerReflectionInfo(questions)
        names = {service.name for service in listed.list_services_response.service}
        assert {"tensorflow.serving.PredictionService", "tensorflow.serving.ModelService"} <= names
        assert described.file_descriptor_response.file_descriptor_proto


def test_unix_socket(exported, base, tmp_path):
    install(exported[1], base, 1)
    path = tmp_path / "grpc.sock"
    with (
        fixtures.RunningServer(config.single_model("m", base), grpc_socket_path=str(path)),
        grpc.insecure_channel(f"unix:{path}") as channel,
    ):
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        response = stub.Predict(fixtures.sequence_request([1]), timeout=30)
        assert response.model_spec.version.value == 1


@pytest.mark.parametrize("client_verify", [False, True])
def test_tls_and_client_certificates(exported, base, client_verify):
    install(exported[1], base, 1)
    authority = trustme.CA()
    of_server, of_client = authority.issue_cert("127.0.0.1"), authority.issue_cert("client")
    trusted = authority.cert_pem.bytes()
    ssl = config.SSLConfig(
        server_key=of_server.private_key_pem.bytes().decode(),
        server_cert=of_server.cert_chain_pems[0].bytes().decode(),
        custom_ca=trusted.decode(),
        client_verify=client_verify,
    )
    with fixtures.RunningServer(config.single_model("m", base), ssl=ssl) as running:

        def ask(credentials):
            with grpc.secure_channel(running.address, credentials) as channel:
                stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
                return stub.Predict(fixtures.sequence_request([1]), timeout=30)

        with_certificate = grpc.ssl_channel_credentials(
            trusted, of_client.private_key_pem.bytes(), of_client.cert_chain_pems[0].bytes()
        )
        assert ask(with_certificate).model_spec.version.value == 1
        without_certificate = grpc.ssl_channel_credentials(trusted)
        if client_verify:
            assert failure(ask, without_certificate)[0] == Code.UNAVAILABLE
        else:
            assert ask(without_certificate).model_spec.version.value == 1
        assert failure(served_version, running)[0] == Code.UNAVAILABLE


def _options(*arguments) -> server.ServerOptions:
    values = flags.FlagValues()
    server.define_flags(values)
    values(["server", *arguments])
    return server.options_from_flags(values)


def test_flags(tmp_path):
    batching = tmp_path / "batching.config"
    batching.write_text("max_batch_size { value: 8 } batch_timeout_micros { value: 500 }")
    monitoring = tmp_path / "monitoring.config"
    monitoring.write_text("prometheus_config { enable: true }")
    options = _options(
        "--model_name=n",
        "--model_base_path=/models/n",
        "--rest_api_port=8501",
        "--enable_batching",
        f"--batching_parameters_file={batching}",
        f"--monitoring_config_file={monitoring}",
        "--enable_grpc_healthcheck_service=true",
    )
    assert options.host == "127.0.0.1"
    assert (options.port, options.rest_api_port) == (8500, 8501)
    assert _model(options.models).name == "n"
    assert options.batching.max_batch_size == 8
    assert options.batching.batch_timeout_seconds == 500e-6
    assert options.prometheus_path == config.PROMETHEUS_PATH
    assert options.health_service


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give either --model_base_path or --model_config_file, got '' and ''."),
        (["--model_config_file=/no/such"], "Cannot read ModelServerConfig from /no/such: "),
        (
            ["--model_base_path=/m", "--batching_parameters_file=x"],
            "--batching_parameters_file is set without --enable_batching.",
        ),
        (
            ["--model_base_path=/m", "--monitoring_config_file=x"],
            "--monitoring_config_file is set without --rest_api_port.",
        ),
    ],
)
def test_contradicting_flags(arguments, message):
    with pytest.raises(ValueError, match=message):
        _options(*arguments)


def test_a_config_file_that_is_none(tmp_path):
    path = tmp_path / "models.config"
    path.write_text("model_config_list { konfig {} }")
    with pytest.raises(ValueError, match=r"is not a text proto of ModelServerConfig: .*konfig"):
        config.read(path, config.ModelServerConfig)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def _process(*arguments):
    repository = pathlib.Path(server.__file__).resolve().parent.parent
    process = subprocess.Popen(
        [sys.executable, "-m", "keras_stackrnn.serving.server", *arguments],
        cwd=repository,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stderr=subprocess.PIPE,
        text=True,
        # Tests that run under nohup have it ignored, and so would the server.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_command_line_reloads_its_file_and_drains_on_sigterm(exported, base, tmp_path):
    for version in (1, 2):
        install(exported[version], base, version)
    file = tmp_path / "models.config"
    template = (
        'model_config_list {{ config {{ name: "m" base_path: "{}" model_platform: "tensorflow" '
        "model_version_policy {{ specific {{ versions: {} }} }} }} }}"
    )
    file.write_text(template.format(base, 1))
    port = _free_port()
    with (
        _process(
            f"--model_config_file={file}",
            "--model_config_file_poll_wait_seconds=0.1",
            f"--port={port}",
        ) as process,
        grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)

        def version():
            response = stub.Predict(
                fixtures.sequence_request([1]), timeout=PATIENCE_SECONDS, wait_for_ready=True
            )
            return response.model_spec.version.value

        assert version() == 1
        file.write_text("nonsense")
        file.write_text(template.format(base, 2))
        wait_until(lambda: version() == 2)
        rounds = np.array([100_000], np.int32)
        slow = stub.Predict.future(
            fixtures.predict_request(signature="spin", rounds=rounds), timeout=60
        )
        time.sleep(0.2)  # Under way: the request has to be there before the signal.
        process.send_signal(signal.SIGTERM)
        assert slow.result().model_spec.version.value == 2
        assert process.wait(PATIENCE_SECONDS) == 0


def test_a_hangup_lets_live_connections_ask_until_it_is_over(exported, base):
    install(exported[1], base, 1)
    port = _free_port()
    with (
        _process(
            "--model_name=m",
            f"--model_base_path={base}",
            "--port=0",
            f"--rest_api_port={port}",
            "--linger_seconds=2",
        ) as process,
        requests.Session() as session,
    ):
        url = f"http://127.0.0.1:{port}/v1/models/m"

        def is_up() -> bool:
            try:
                return session.get(url, timeout=PATIENCE_SECONDS).ok
            except requests.ConnectionError:
                return False

        wait_until(is_up)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: session.get(url, timeout=30).headers.get("Connection") == "close")
        assert process.wait(PATIENCE_SECONDS) == 0


def test_a_taken_port_is_one_sentence(exported, base):
    install(exported[1], base, 1)
    with (
        fixtures.RunningServer(config.single_model("m", base)) as running,
        pytest.raises(ValueError, match=r"Cannot listen on 127\.0\.0\.1:\d+: is the port taken\?"),
    ):
        fixtures.RunningServer(config.single_model("m", base), port=running.server.port)
