"""Generation that streams: over gRPC and REST, until the end, a stop, or the client's going."""

import http.client
import itertools
import json
import pathlib
import subprocess
import sys
import time

import grpc
import pytest
import requests
import serving_fixtures as fixtures
from google.protobuf import descriptor_pb2, descriptor_pool, empty_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from keras_stackrnn.serving import client as client_module
from keras_stackrnn.serving import config, proto_files
from keras_stackrnn.serving.client import Client
from keras_stackrnn.serving.generation_messages import GENERATION_SERVICE

ENDLESS = 10**15
SERVING = pathlib.Path(client_module.__file__).parent


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("generation") / "m"
    root.mkdir()
    fixtures.save_next_symbol(root / "1", scale=1.0)
    fixtures.save_next_symbol(root / "2", scale=2.0)
    old = root.parent / "old"
    fixtures.save_echo_of_options(old / "1", shape=[])
    models = config.single_model("m", root)
    models.model_config_list.config[0].model_version_policy.all.SetInParent()
    models.model_config_list.config[0].version_labels["stable"] = 1
    models.model_config_list.config.add(name="old", base_path=str(old))
    prometheus = "/monitoring/prometheus/metrics"
    with fixtures.RunningServer(models, prometheus_path=prometheus) as running:
        running.metrics = running.rest_url + prometheus
        yield running


@pytest.fixture
def client(server):
    with Client(server.address, "m") as connected:
        yield connected


def around(start, count):
    """What the fixture's model goes on with after so many symbols."""
    return ["abcde"[(start + index) % 5] for index in range(count)]


@pytest.mark.parametrize("count", [1, 2, 7, 1500])
def test_all_parts_together_are_the_continuation(client, count):
    parts = list(client.stream("abb", max_symbols=count, seed=4))
    assert "".join(parts) == "-".join(around(3 + 4, count))
    assert parts[0] == around(7, 1)[0]
    assert len(parts) >= min(count, 2)


def test_it_stops_before_a_symbol(client):
    assert "".join(client.stream("", max_symbols=ENDLESS, stop=["d", "x"])) == "a-b-c"
    assert list(client.stream("abc", max_symbols=ENDLESS, stop=["d"])) == []
    assert list(client.stream("abc", max_symbols=0)) == []


@pytest.fixture
def generate(server):
    with grpc.insecure_channel(server.address) as channel:
        messages = client_module.GenerateRequest, client_module.GenerateResponse
        yield channel.unary_stream(
            f"/{GENERATION_SERVICE}/Generate", messages[0].SerializeToString, messages[1].FromString
        )


def request(name="m", **fields):
    return client_module.GenerateRequest(model_spec={"name": name}, **fields)


def test_every_part_says_where_it_comes_from_and_the_last_one_why(generate):
    parts = list(generate(request(text="a", max_symbols=3)))
    assert [part.model_spec.version.value for part in parts] == [2] * len(parts)
    assert [symbol for part in parts for symbol in part.symbols] == ["b", "c", "d"]
    assert [part.finish_reason for part in parts] == [""] * (len(parts) - 1) + ["length"]
    *_, last = generate(request(text="a", max_symbols=100, stop=["a"]))
    assert last.finish_reason == "stop"
    asked = request(text="a")
    asked.model_spec.version_label = "stable"
    parts = list(generate(asked))
    assert parts[0].model_spec.version.value == 1
    assert sum(len(part.symbols) for part in parts) == 20


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        (client_module.GenerateRequest(text="a"), "INVALID_ARGUMENT", "Missing ModelSpec"),
        (request("x"), "NOT_FOUND", "Servable not found for request: Latest(x)"),
        (request(max_symbols=-1), "INVALID_ARGUMENT", "Expected max_symbols of 0 or more, got -1"),
        (request(text="!"), "INVALID_ARGUMENT", "is not in [0, 5)"),
        (request("old"), "FAILED_PRECONDITION", 'takes a model with the signature "generate_on"'),
        (empty_pb2.Empty.FromString(b"\x0a\x01\xff"), "INVALID_ARGUMENT", "are not a Generate"),
    ],
)
def test_requests_that_make_no_sense(server, asked, code, message):
    with grpc.insecure_channel(server.address) as channel:
        generate = channel.unary_stream(f"/{GENERATION_SERVICE}/Generate")
        with pytest.raises(grpc.RpcError) as caught:
            list(generate(asked.SerializeToString()))
    assert caught.value.code().name == code
    assert message in caught.value.details()


def cancelled(server):
    """How many streams ended because somebody went."""
    page = requests.get(server.metrics).text
    name = ':tensorflow:serving:request_count{model_name="m",status="CANCELLED"}'
    counts = [line.split()[-1] for line in page.splitlines() if line.startswith(name)]
    return float(counts[0]) if counts else 0.0


def assert_nothing_runs(server, before):
    """A stream that nobody reads has let go of its version, and draws no more."""
    limit = time.monotonic() + 20
    servables = server.server.models._servables["m"].values()
    while time.monotonic() < limit:
        if cancelled(server) == before + 1 and not any(each.leases for each in servables):
            assert server.server.service._inflight == 0
            return
        time.sleep(0.02)
    raise AssertionError("The stream goes on.")


def test_a_client_of_grpc_that_goes_ends_the_work(server, client):
    before = cancelled(server)
    stream = client.stream("a", max_symbols=ENDLESS)
    assert "".join(itertools.islice(stream, 10)).startswith("b-c-d")
    stream.close()
    assert_nothing_runs(server, before)


def test_a_connection_that_breaks_ends_the_work(server):
    before = cancelled(server)
    with Client(server.address, "m") as client:
        stream = client.stream("a", max_symbols=ENDLESS)
        next(stream)
    with pytest.raises(grpc.RpcError):
        list(stream)
    assert_nothing_runs(server, before)


def test_a_deadline_ends_the_work(server, generate):
    with pytest.raises(grpc.RpcError) as caught:
        list(generate(request(max_symbols=ENDLESS), timeout=0.3))
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED


def events(response):
    """The events of a stream, each with its name and its content."""
    name = "message"
    for line in response.iter_lines(chunk_size=1, decode_unicode=True):
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))
            name = "message"


def post(server, path="m:generate", **document):
    return requests.post(f"{server.rest_url}/v1/models/{path}", json=document, stream=True)


def test_rest_sends_events(server):
    with post(server, text="ab", max_symbols=9, temperature=0, seed=1, stop="x") as response:
        assert response.status_code == 200
        assert response.headers["Content-Type"].startswith("text/event-stream")
        contents = [content for _, content in events(response)]
    assert "".join(content["text"] for content in contents) == "-".join(around(3, 9))
    assert [s for content in contents for s in content["symbols"]] == around(3, 9)
    assert [content.get("finish_reason") for content in contents[:-1]] == [None] * (
        len(contents) - 1
    )
    assert contents[-1]["finish_reason"] == "length"
    with post(server, "m/versions/1:generate", text="ab", stop=["e"], max_symbols=50) as response:
        contents = [content for _, content in events(response)]
    assert "".join(content["text"] for content in contents) == "c-d"
    assert contents[-1]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("path", "document", "code", "message"),
    [
        ("x:generate", {"text": ""}, 404, "Servable not found for request: Latest(x)"),
        ("m:generate", {"txt": ""}, 400, 'has no field named "txt"'),
        ("m:generate", {"text": 5}, 400, "Not a request to generate: Failed to parse text"),
        ("m:generate", {"text": "!"}, 400, "is not in [0, 5)"),
        ("m:generate", {"max_symbols": -3}, 400, "Expected max_symbols of 0 or more, got -3"),
        ("m:generate", {"model_spec": {}}, 400, "The model is named in the address"),
        ("m:generate", {"text": "\ud800"}, 400, "Not a request to generate"),
        ("m/versions/9:generate", {}, 404, "Servable not found for request: Specific(m, 9)"),
    ],
)
def test_rest_says_what_is_wrong_before_it_streams(server, path, document, code, message):
    with post(server, path, **document) as response:
        assert response.status_code == code
        assert message in response.json()["error"]


def test_a_client_of_rest_that_goes_ends_the_work(server):
    before = cancelled(server)
    connection = http.client.HTTPConnection(server.rest_url.removeprefix("http://"))
    body = json.dumps({"text": "a", "max_symbols": ENDLESS})
    connection.request("POST", "/v1/models/m:generate", body)
    response = connection.getresponse()
    assert response.readline().startswith(b'data: {"text": "b"')
    response.close()
    connection.close()
    assert_nothing_runs(server, before)


def test_a_stream_that_breaks_says_so(tmp_path):
    root = tmp_path / "m"
    root.mkdir()
    fixtures.save_next_symbol(root / "1", scale=1.0)
    with (
        fixtures.RunningServer(config.single_model("m", root)) as server,
        post(server, text="a", max_symbols=ENDLESS) as response,
    ):
        seen = events(response)
        assert next(seen)[0] == "message"
        [servable] = server.server.models._servables["m"].values()
        servable.model.close()
        *_, (name, content) = seen
    assert name == "error"
    assert "closed" in content["error"]


def test_a_stream_finishes_on_the_version_it_began_on(server, generate):
    asked = request(text="a", max_symbols=5000)
    asked.model_spec.version.value = 1
    assert {part.model_spec.version.value for part in generate(asked)} == {1}


def test_the_command_prints_as_it_comes(server, capsys):
    values = client_module.flags.FLAGS
    if "max_symbols" not in values:
        client_module.define_flags(values)
    values(["client", "--max_symbols=7", "--stop=e", "--model=m", f"--server={server.address}"])
    client_module.main(["client", "stream", "a", "ab"])
    assert capsys.readouterr().out == "b-c-d\nc-d\n"


def test_reflection_shows_the_service(server):
    stub = reflection_pb2_grpc.ServerReflectionStub(server.channel)
    asked = reflection_pb2.ServerReflectionRequest(file_containing_symbol=GENERATION_SERVICE)
    [answer] = stub.ServerReflectionInfo(iter([asked]))
    files = [
        descriptor_pb2.FileDescriptorProto.FromString(data)
        for data in answer.file_descriptor_response.file_descriptor_proto
    ]
    assert files[0].service[0].method[0].server_streaming


@pytest.mark.parametrize("path", sorted(SERVING.glob("*.proto")), ids=lambda path: path.name)
def test_proto_files_are_read_as_the_compiler_reads_them(path, tmp_path):
    # What is imported comes from its Python package, whose wheel has no .proto files.
    file = proto_files.parse(path.read_text(), path.name)
    imported = descriptor_pb2.FileDescriptorSet()
    for name in file.dependency:
        descriptor_pool.Default().FindFileByName(name).CopyToProto(imported.file.add())
    for name in [d for each in imported.file for d in each.dependency]:
        descriptor_pool.Default().FindFileByName(name).CopyToProto(imported.file.add())
    (tmp_path / "imported").write_bytes(imported.SerializeToString())
    arguments = [
        f"--proto_path={path.parent}",
        f"--descriptor_set_in={tmp_path / 'imported'}",
        f"--descriptor_set_out={tmp_path / 'compiled'}",
        path.name,
    ]
    if not file.dependency:
        del arguments[1]
    # In a process of its own: the compiler and TensorFlow each bring a protobuf library.
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *arguments], check=True)
    compiled = descriptor_pb2.FileDescriptorSet.FromString((tmp_path / "compiled").read_bytes())
    assert file == compiled.file[-1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('syntax = "proto2";', "Expected '\"proto3\"', got '\"proto2\"'"),
        ("enum E { A = 0; }", "x.proto: unexpected 'enum'"),
        ("message M { int32 a 1; }", "Expected '=', got '1'"),
    ],
)
def test_what_is_no_such_proto_file(text, message):
    with pytest.raises(ValueError, match=message):
        proto_files.parse(text, "x.proto")
