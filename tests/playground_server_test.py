"""The playground without a browser: what it serves, who may ask, what it says of tasks."""

import json

import keras
import pytest
import requests
from absl import flags
from test_case import run_command

if keras.backend.backend() != "tensorflow":
    pytest.skip("models are served with TensorFlow alone", allow_module_level=True)

from keras_stackrnn import gallery, tasks
from keras_stackrnn.playground import __main__ as command
from keras_stackrnn.playground import sequences
from keras_stackrnn.playground.endpoint import PageEndpoint, files
from keras_stackrnn.playground.server import playing
from keras_stackrnn.playground.sources import Sources
from keras_stackrnn.serving import server as serving

DESCRIBE = {"signature_name": "describe", "inputs": {"batch_size": 1}}


@pytest.fixture(scope="module")
def other_server():
    """A server of somebody else."""
    with playing(Sources(live={"theirs": gallery.path_of("anb2n")})) as running:
        yield running


@pytest.fixture(scope="module")
def address(other_server, exports):
    given = [
        str(exports("rnn").path.parent),
        f"127.0.0.1:{other_server.rest_api_port}/theirs",
        "127.0.0.1:1/nobody",
    ]
    with playing(Sources.of(given)) as running:
        yield f"http://127.0.0.1:{running.rest_api_port}"


def described(address, name):
    answer = requests.post(f"{address}/v1/models/{name}:predict", json=DESCRIBE, timeout=30)
    assert answer.status_code == 200, answer.text
    return json.loads(answer.json()["outputs"][0])


def test_the_page_says_what_may_be_loaded(address):
    for path in files():
        answer = requests.get(f"{address}/{path}", timeout=30)
        assert answer.status_code == 200
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Type"].startswith(("text/", "application/json"))
    for path in ("page/nosuch.js", "page/../server.py", "page/%2e%2e/server.py"):
        assert requests.get(f"{address}/{path}", timeout=30).status_code in (400, 404)


def test_models_of_all_sources_stand_beside_the_gallery(address):
    models = requests.get(f"{address}/page/models.json", timeout=30).json()["models"]
    names = [model["name"] for model in models]
    assert names == ["rnn", "theirs", "nobody", *gallery.names()]
    assert models[-1]["shows"] == gallery.about(names[-1]).shows
    assert described(address, "rnn")["memory"] is None
    assert described(address, "theirs")["memories"] == ["stack1", "stack2"]


def test_each_model_of_the_gallery_has_a_version_that_rounds_and_one_that_does_not(address):
    versions = [described(address, f"anbn/versions/{number}")["rounding"] for number in (1, 2)]
    assert versions == [False, True]
    assert described(address, "anbn")["rounding"]


def test_a_server_that_is_not_there_is_a_sentence(address):
    answer = requests.get(f"{address}/v1/models/nobody", timeout=30)
    assert answer.status_code == 503
    assert answer.json()["error"].startswith("No REST API answers at 127.0.0.1:1,")


def test_nobody_elsewhere_can_ask_or_trigger_anything(address):
    for path in ("/", "/page/models.json", "/page/tasks/anbn", "/v1/models/anbn"):
        for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            assert requests.get(address + path, headers=headers, timeout=30).status_code == 403
    other_page = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    for path, status in (("/", 200), ("/page/main.js", 403), ("/page/tasks/anbn?size=9", 403)):
        assert requests.get(address + path, headers=other_page, timeout=30).status_code == status
    for path in ("/page/tasks/anbn", "/v1/models/anbn:predict"):
        answer = requests.post(
            address + path, data="{}", headers={"Content-Type": "text/plain"}, timeout=30
        )
        assert answer.status_code == 415
    assert requests.post(f"{address}/page/models.json", json={}, timeout=30).status_code == 405


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("size=0", "Expected a size from 1 to 1000, got '0'."),
        ("size=1001", "Expected a size from 1 to 1000, got '1001'."),
        ("size=x", "Expected a size from 1 to 1000, got 'x'."),
        ("size=5&seed=-1", "Expected a seed of 0 or more, got '-1'."),
    ],
)
def test_sizes_that_are_none_are_refused(address, query, sentence):
    answer = requests.get(f"{address}/page/tasks/anbn?{query}", timeout=30)
    assert (answer.status_code, answer.json()["error"]) == (400, sentence)


def test_a_task_is_told_over_http(address):
    about = requests.get(f"{address}/page/tasks/anbn", timeout=30).json()
    assert about == sequences.about("anbn")
    assert about["examples"] == ["aaabbb", "aaaaabbbbb", "aaaaaaaabbbbbbbb"]
    drawn = requests.get(f"{address}/page/tasks/memorize?size=9&seed=4", timeout=30).json()
    assert drawn == sequences.drawn("memorize", "9", "4")
    read = requests.post(f"{address}/page/tasks/anbn", json={"texts": ["aabb"]}, timeout=30).json()
    assert read == {"texts": [{"known": [False, False, True, True], "whole": True}]}
    for wrong in ({"texts": "aabb"}, {"texts": [1]}, {}):
        answer = requests.post(f"{address}/page/tasks/anbn", json=wrong, timeout=30)
        assert answer.status_code == 400
    assert requests.get(f"{address}/page/tasks/nosuch", timeout=30).status_code == 400


def test_what_follows_is_known_as_long_as_the_task_writes_it():
    [part, wrong, foreign, nothing] = sequences.read("anbn", ["aab", "aabbb", "abc", ""])["texts"]
    assert part == {"known": [False, False, True], "whole": False}
    # After aabb an a has to come.
    assert wrong == {"known": [False, False, True, True], "whole": False}
    assert foreign == {"known": [False, True], "whole": False}
    assert nothing == {"known": [], "whole": True}


@pytest.mark.parametrize("name", ["memorize", "chomsky/reverse_string", "recognition/parity"])
def test_a_drawn_sequence_has_its_answer(name):
    task = tasks.get(name)
    drawn = sequences.drawn(name, "7", "2")
    assert drawn == sequences.drawn(name, "7", "2")
    symbols = task.inputs.split(drawn["text"])
    assert len(symbols) >= 7
    if name == "memorize":
        assert drawn["answer"] is None
        assert task.parse(drawn["text"])[0].text == drawn["text"]
    elif name == "recognition/parity":
        assert drawn["answer"][0] in task.labels
    else:
        assert drawn["answer"] == symbols[::-1]


def test_sources_are_named_and_refused(tmp_path, exports):
    file = tmp_path / "my model.keras"
    file.write_bytes(gallery.path_of("anbn").read_bytes())
    sources = Sources.of([str(file), "gallery:anbn", str(exports("rnn").path)])
    assert sources.names()[:2] == ("my-model", "anbn")
    assert sources.saved == {"rnn": exports("rnn").path.parent.resolve()}
    with pytest.raises(
        ValueError, match="There is no model 'nosuch': expected the folder of a run"
    ):
        Sources.of(["nosuch"])


def test_the_files_can_be_written(tmp_path, capsys):
    run_command(command, f"--write={tmp_path}/public")
    assert capsys.readouterr().out == f"The page is in {tmp_path}/public.\n"
    written = {str(path.relative_to(tmp_path / "public")) for path in tmp_path.rglob("*.*")}
    assert {*files(), "page/models.json"} - {""} <= written
    assert "index.html" in written


def test_the_servers_flag_puts_the_page_on_the_rest_port():
    values = flags.FlagValues()
    serving.define_flags(values)
    values(["", "--model_base_path=x", "--playground", "--rest_api_port=8501"])
    options = serving.options_from_flags(values)
    assert options.endpoints == (PageEndpoint,)
    assert options.rest_access.requires_json
    values(["", "--model_base_path=x", "--playground", "--rest_api_port=0"])
    with pytest.raises(ValueError, match="--playground is a page of the REST port"):
        serving.options_from_flags(values)
