"""What strangers may do to a server: slow clients, broken requests, pages in browsers, reloads."""

import gzip
import json
import pathlib
import socket
import time

import grpc
import pytest
import requests
import serving_fixtures as fixtures
import tensorflow as tf
import trustme
from absl import flags
from tensorflow_serving.apis import get_model_status_pb2, model_management_pb2

from keras_stackrnn.serving import config, server
from keras_stackrnn.serving.file_operations import file_operations
from keras_stackrnn.serving.rest_access import Access

PATIENCE_SECONDS = 60
READ_SECONDS = 1.0
MAX_BYTES = 2**20
MAX_INFLIGHT = 4
PREDICT = {"instances": [{"tokens": [0, 1], "lengths": 2}]}


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("hardening") / "m"
    path.mkdir()
    fixtures.save_next_symbol(path / "1", scale=1.0)
    return path


@pytest.fixture(scope="module")
def running(base):
    with fixtures.RunningServer(
        config.single_model("m", base),
        read_seconds=READ_SECONDS,
        max_message_bytes=MAX_BYTES,
        max_inflight_requests=MAX_INFLIGHT,
        prometheus_path=config.PROMETHEUS_PATH,
    ) as opened:
        yield opened


def connection(running) -> socket.socket:
    port = running.server.rest_api_port
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)


def head(method="POST", path="/v1/models/m:predict", **headers) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def answer_to(running, data: bytes, has_body: bool = True) -> tuple[int, dict, dict]:
    """Sends bytes; returns status, headers and what the body, if there is one, says."""
    with connection(running) as opened:
        opened.sendall(data)
        return read_answer(opened, has_body)


def read_answer(opened: socket.socket, has_body: bool = True) -> tuple[int, dict, dict]:
    with opened.makefile("rb") as file:
        status = int(file.readline().split()[1])
        headers = {}
        while line := file.readline().strip().decode():
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        body = file.read(int(headers.get("content-length", 0))) if has_body else b""
    return status, headers, json.loads(body) if body else {}


def ask(running, **kwargs) -> requests.Response:
    kwargs = {"json": PREDICT, "timeout": PATIENCE_SECONDS, **kwargs}
    return requests.post(f"{running.rest_url}/v1/models/m:predict", **kwargs)


def assert_answers(running) -> None:
    assert ask(running).status_code == 200


def test_headers_that_drip_are_cut_off(running):
    with connection(running) as opened:
        opened.sendall(b"POST /v1/mod")
        started = time.monotonic()
        assert opened.recv(1) == b""
        assert time.monotonic() - started < PATIENCE_SECONDS / 2
    assert_answers(running)


def test_a_body_that_drips_is_cut_off_and_takes_no_place(running):
    slow = [connection(running) for _ in range(3 * MAX_INFLIGHT)]
    try:
        for opened in slow:
            opened.sendall(head(Content_Length=100) + b"{")
        assert_answers(running)
        for opened in slow:
            status, headers, body = read_answer(opened)
            assert (status, headers["connection"]) == (408, "close")
            assert body == {"error": f"The request's body did not come within {READ_SECONDS:g} s"}
    finally:
        for opened in slow:
            opened.close()


def test_hundreds_of_dripping_connections_delay_nobody(running):
    slow = [connection(running) for _ in range(500)]
    try:
        for number, opened in enumerate(slow):
            opened.sendall(head(Content_Length=100)[: 20 + number])
        for _ in range(20):
            assert_answers(running)
    finally:
        for opened in slow:
            opened.close()


def test_a_call_whose_message_does_not_come_is_cut_off(running):
    stream = running.channel.stream_unary("/tensorflow.serving.PredictionService/Predict")
    waiting = iter(lambda: time.sleep(PATIENCE_SECONDS), None)
    with pytest.raises(grpc.RpcError) as caught:
        stream(waiting, timeout=PATIENCE_SECONDS / 2)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert caught.value.details() == f"The request did not come within {READ_SECONDS:g} s"


def test_a_declared_oversize_is_refused_before_it_is_sent(running):
    status, headers, body = answer_to(running, head(Content_Length=MAX_BYTES + 1))
    assert (status, headers["connection"]) == (413, "close")
    assert body == {"error": f"The request's body is larger than {MAX_BYTES} bytes"}


def test_an_oversize_that_is_not_declared(running):
    def chunks():
        for _ in range(3):
            yield b" " * (MAX_BYTES // 2)

    response = ask(running, json=None, data=chunks())
    assert response.status_code == 413
    assert response.json() == {"error": f"The request's body is larger than {MAX_BYTES} bytes"}


def test_a_gzip_bomb(running):
    data = gzip.compress(bytes(100 * MAX_BYTES))
    assert len(data) < MAX_BYTES
    headers = {"Content-Encoding": "gzip"}
    assert ask(running, json=None, data=data, headers=headers).status_code == 413


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda data: b"no gzip", "The request's body is not what its headers say: 400"),
        (lambda data: data[:-5] + bytes(5), "The request's body is not what its headers say: 400"),
        (lambda data: data[: len(data) // 2], "JSON Parse error: "),
    ],
    ids=["none", "wrong sum", "cut off"],
)
def test_corrupt_gzip(running, spoil, error, caplog):
    data = spoil(gzip.compress(json.dumps(PREDICT).encode()))
    headers = {"Content-Encoding": "gzip"}
    response = ask(running, json=None, data=data, headers=headers)
    assert response.status_code == 400
    assert response.json()["error"].startswith(error)
    assert not caplog.records


@pytest.mark.parametrize(
    ("data", "status", "error"),
    [
        (head("GET", "/v1/" + 9000 * "x"), 414, "The URL is longer than 8190 bytes"),
        (head(X=20_000 * "x"), 431, "A header is longer than 16380 bytes"),
        (
            head(Expect="a miracle", Content_Length=2),
            417,
            "Unknown expectation 'a miracle': only '100-continue' can be met",
        ),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400, "The request is not HTTP that can be read: "),
        (b"GET\r\n\r\n", 400, "The request is not HTTP that can be read: "),
        (head(Content_Length="many"), 400, "The request is not HTTP that can be read: "),
        (head("GET", "/nothing"), 404, "404 Not Found"),
        (head("BREW", "/v1/models/m"), 400, "The request is not HTTP that can be read: "),
        (head("DELETE", "/v1/models/m"), 400, "Malformed request: DELETE /v1/models/m"),
    ],
)
def test_what_is_no_request_gets_json_and_leaves_no_traceback(running, data, status, error, caplog):
    got, headers, body = answer_to(running, data)
    assert got == status
    assert headers["content-type"].startswith("application/json")
    assert list(body) == ["error"]
    assert body["error"].startswith(error)
    assert "\n" not in body["error"]
    assert not caplog.records
    assert_answers(running)


def test_expectations_are_met(running):
    data = json.dumps(PREDICT).encode()
    with connection(running) as opened:
        opened.sendall(head(Expect="100-continue", Content_Length=len(data)))
        assert opened.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        opened.sendall(data)
        status, _, body = read_answer(opened)
    assert (status, list(body)) == (200, ["predictions"])


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/models/m", 200),
        ("/v1/models/m/metadata", 200),
        (config.PROMETHEUS_PATH, 200),
        ("/v1/models/nobody", 404),
        ("/v1/models/m:predict", 405),
    ],
)
def test_head(running, path, status):
    response = requests.head(running.rest_url + path, timeout=PATIENCE_SECONDS)
    assert (response.status_code, response.content) == (status, b"")
    if status == 405:
        assert response.headers["Allow"] == "POST"
    else:
        same = requests.get(running.rest_url + path, timeout=PATIENCE_SECONDS)
        assert response.headers["Content-Type"] == same.headers["Content-Type"]


@pytest.mark.parametrize(
    ("host", "is_answered"),
    [
        ("localhost", True),
        ("LOCALHOST:8501", True),
        ("127.0.0.1:1", True),
        ("[::1]", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("", False),
        ("[::1", False),
    ],
)
def test_names_that_lead_here_by_way_of_dns_are_refused(running, host, is_answered):
    response = ask(running, headers={"Host": host})
    assert response.status_code == (200 if is_answered else 403)
    if not is_answered:
        error = f"Requests for the host {host!r} are not answered here"
        assert response.json() == {"error": error}


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "http://["]
)
def test_pages_from_elsewhere_are_refused(running, origin):
    response = ask(running, headers={"Origin": origin})
    assert response.status_code == 403
    assert response.json() == {"error": f"Requests from pages of {origin!r} are not answered"}
    assert "Access-Control-Allow-Origin" not in response.headers


def test_a_page_of_its_own_may_ask(running):
    assert ask(running, headers={"Origin": running.rest_url}).status_code == 200


def test_access_can_be_widened_and_narrowed(base):
    page = "http://localhost:3000"
    access = Access(allowed_hosts=("model.lan",), allowed_origins=(page,), requires_json=True)
    with fixtures.RunningServer(config.single_model("m", base), rest_access=access) as running:
        assert ask(running, headers={"Host": "model.lan"}).status_code == 200
        response = ask(running, headers={"Origin": page})
        assert response.status_code == 200
        assert response.headers["Access-Control-Allow-Origin"] == page
        url = f"{running.rest_url}/v1/models/m:predict"
        asks_first = requests.options(url, headers={"Origin": page}, timeout=PATIENCE_SECONDS)
        assert asks_first.status_code == 204
        assert asks_first.headers["Access-Control-Allow-Headers"] == "Content-Type"
        response = ask(running, json=None, data=json.dumps(PREDICT))
        assert response.status_code == 415
        error = "Expected the content type 'application/json', got 'application/octet-stream'"
        assert response.json() == {"error": error}
        assert requests.get(f"{running.rest_url}/v1/models/m", timeout=30).status_code == 200


def test_a_server_for_others_answers_to_any_name(base):
    with fixtures.RunningServer(config.single_model("m", base), host="0.0.0.0") as running:
        assert ask(running, headers={"Host": "model.lan"}).status_code == 200
    access = Access(allowed_hosts=("model.lan",))
    models = config.single_model("m", base)
    with fixtures.RunningServer(models, host="0.0.0.0", rest_access=access) as running:
        assert ask(running, headers={"Host": "model.lan"}).status_code == 200
        assert ask(running, headers={"Host": "evil.example"}).status_code == 403


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture(scope="module")
def ssl_config(authority):
    own = authority.issue_cert("127.0.0.1")
    return config.SSLConfig(
        server_key=own.private_key_pem.bytes().decode(),
        server_cert=own.cert_chain_pems[0].bytes().decode(),
        custom_ca=authority.cert_pem.bytes().decode(),
        client_verify=True,
    )


def test_rest_over_tls_with_client_certificates(base, authority, ssl_config, tmp_path):
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    authority.issue_cert("client@example.com").private_key_and_cert_chain_pem.write_to_path(
        tmp_path / "client.pem"
    )
    models = config.single_model("m", base)
    with fixtures.RunningServer(models, rest_ssl=ssl_config) as running:
        url = running.rest_url.replace("http:", "https:") + "/v1/models/m"
        trusted = {"verify": str(tmp_path / "ca.pem"), "timeout": PATIENCE_SECONDS}
        response = requests.get(url, cert=str(tmp_path / "client.pem"), **trusted)
        assert response.status_code == 200
        with pytest.raises(requests.ConnectionError):
            requests.get(url, **trusted)


def test_a_broken_key_for_rest_is_one_sentence(base, ssl_config):
    broken = config.SSLConfig(server_key="x", server_cert=ssl_config.server_cert)
    with pytest.raises(ValueError, match=r"^The SSLConfig for REST is broken: "):
        fixtures.RunningServer(config.single_model("m", base), rest_ssl=broken)


def options(*arguments) -> server.ServerOptions:
    values = flags.FlagValues()
    server.define_flags(values)
    values(["server", "--model_base_path=/m", *arguments])
    return server.options_from_flags(values)


def test_plain_rest_beside_client_certificates_has_to_be_asked_for(ssl_config, tmp_path):
    file = tmp_path / "ssl.config"
    file.write_text(str(ssl_config))
    both = [f"--ssl_config_file={file}", "--rest_api_port=8501"]
    with pytest.raises(ValueError, match=r"anybody could ask over REST on port 8501: add "):
        options(*both)
    assert options(*both, "--allow_plain_rest_api").rest_ssl is None
    assert options(*both, f"--rest_api_ssl_config_file={file}").rest_ssl == ssl_config
    assert options(both[0]).rest_api_port is None
    with pytest.raises(ValueError, match="is set without --rest_api_port"):
        options(f"--rest_api_ssl_config_file={file}")


def reload(running, base) -> None:
    request = model_management_pb2.ReloadConfigRequest(config=config.single_model("m", base))
    running.management.HandleReloadConfigRequest(request, timeout=PATIENCE_SECONDS)


def denial(running, base) -> str:
    with pytest.raises(grpc.RpcError) as caught:
        reload(running, base)
    assert caught.value.code() == grpc.StatusCode.PERMISSION_DENIED
    return caught.value.details()


def test_whoever_can_reach_a_server_cannot_reload_it(base):
    models = config.single_model("m", base)
    with fixtures.RunningServer(models, host="0.0.0.0") as running:
        assert "was started without --allow_reload" in denial(running, base)
    with fixtures.RunningServer(models, host="0.0.0.0", allow_reload=True) as running:
        reload(running, base)
    with fixtures.RunningServer(models, allow_reload=False) as running:
        assert "was started without --allow_reload" in denial(running, base)


def test_reloads_stay_below_their_folders(base, tmp_path):
    models = config.single_model("m", base)
    roots = (str(base.parent),)
    with fixtures.RunningServer(models, reload_base_paths=roots) as running:
        reload(running, base)
        (tmp_path / "out").symlink_to(base)
        (base.parent / "in").symlink_to(tmp_path, target_is_directory=True)
        for outside in (tmp_path, base.parent / "in", base / ".." / ".."):
            assert "lies in none of --reload_base_paths" in denial(running, outside)
        reload(running, tmp_path / "out")


class Reader(tf.Module):
    """A model that reads a file, and one more when it is loaded."""

    def __init__(self, path):
        super().__init__()
        self.words = tf.saved_model.Asset(str(path))
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(
                self.words,
                tf.string,
                tf.lookup.TextFileIndex.WHOLE_LINE,
                tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER,
            ),
            -1,
        )

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "name")])
    def read(self, name):
        return {"content": tf.map_fn(tf.io.read_file, name), "index": self.table.lookup(name)}


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    root = tmp_path_factory.mktemp("reader")
    (root / "words.txt").write_text("a\nb\n")
    module = Reader(root / "words.txt")
    tf.saved_model.save(module, str(root / "m" / "1"), signatures=module.read)
    return root / "m"


def test_file_operations_are_named(base, reader):
    assert file_operations(base / "1") == []
    assert file_operations(reader / "1") == ["InitializeTableFromTextFileV2", "ReadFile"]


def test_file_operations_are_warned_of_or_refused(reader, caplog):
    names = "operations that touch files: InitializeTableFromTextFileV2, ReadFile"
    with fixtures.RunningServer(config.single_model("m", reader)):
        assert names in caplog.text
    with pytest.raises(Exception, match="which are refused: InitializeTableFromTextFileV2, Read"):
        fixtures.RunningServer(config.single_model("m", reader), refuse_file_operations=True)


def test_ports_are_taken_before_models_are_loaded(base, monkeypatch):
    loaded = []
    monkeypatch.setattr(server, "SavedModel", lambda *_: loaded.append(1))
    models = config.single_model("m", base)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for which in ("port", "rest_api_port"):
            with pytest.raises(ValueError, match=rf"Cannot listen on 127\.0\.0\.1:{port}"):
                fixtures.RunningServer(models, **{which: port})
    assert not loaded


def test_while_a_server_goes_live_connections_are_answered(base):
    with fixtures.RunningServer(config.single_model("m", base), health_service=True) as running:
        request = get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = "m"
        with requests.Session() as session:
            url = f"{running.rest_url}/v1/models/m"
            before = session.get(url, timeout=PATIENCE_SECONDS)
            assert before.headers.get("Connection") != "close"
            running.server._on_loop(running.server._rest_server.drain())
            after = session.get(url, timeout=PATIENCE_SECONDS)
        assert (after.status_code, after.headers["Connection"]) == (200, "close")
        assert running.management.GetModelStatus(request)
