"""A tiny twin of `make campaign`: a round of each part; and the calls that runs are stopped at."""

import json
import os
import subprocess
import sys

import pytest
from training_case import REPOSITORY

from campaign.part import Outcome
from campaign.record import Record
from campaign.serving import Serving

# With this seed, both parts that train have chosen the network that is compiled the fastest.
SEED = 7


def test_one_round_of_each_part(tmp_path):
    results = tmp_path / "results"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "campaign", "--rounds=1", "--scale=0.01"),
            *(f"--seed={SEED}", f"--results={results}"),
        ],
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    written = json.loads((results / "campaign.json").read_text())
    assert written["faults"] == []
    counts = {name: part["counts"] for name, part in written["parts"].items()}
    assert counts["kills"]["runs"] == 1
    assert counts["damage"]["damaged files"] == 1
    serving = counts["serving"]
    assert serving["requests"] >= 500
    assert (serving["swaps"], serving["server kills"], serving["server stops"]) == (1, 1, 1)
    assert "Promises that were not kept: none." in (results / "campaign.md").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_the_record_adds_up(tmp_path):
    for seed in (1, 2):
        record = Record(tmp_path / "campaign.json")
        record.begin(seed)
        outcome = Outcome(faults=["It lost\na request"])
        outcome.counts.update({"requests": 600_000, "swaps": 50, "malformed messages": 10_000})
        record.add("serving", f"{seed}/serving/0", outcome, 30.0)
        record.write_page(tmp_path / "campaign.md", [Serving()])
    assert record.done(Serving()) == 1.0
    page = (tmp_path / "campaign.md").read_text()
    assert "| requests | 1,200,000 | 1,000,000 |" in page
    assert "- serving, round `2/serving/0`: It lost a request" in page
    assert "1 minutes" in page


# Threads and child processes are watched, too. It is watched from a process without threads.
WATCHING = """
import json, os, signal, subprocess, sys, threading
from pathlib import Path
from campaign import file_calls

def write():
    Path("made").mkdir()
    Path("made/file").write_text("some")

def work():
    os.chdir(folder)
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    Path("/dev/null").write_text("elsewhere")
    return subprocess.call(["mv", "made/file", "made/other"])

def before(call):
    calls.append([call.name, call.path, call.kind])
    if call.name == sys.argv[2]:
        if sys.argv[3] == "kill":
            os.kill(call.process, signal.SIGKILL)
        return 28
    return 0

folder, calls = Path(sys.argv[1]), []
why = file_calls.unavailable()
code = None if why else file_calls.watched(work, folder, before)
print(json.dumps({"why": why, "code": code, "calls": calls}))
"""


def watched(folder, name="", what="") -> dict:
    """What becomes of that code when something is done before calls of this name."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHING, folder, name, what],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if found["why"]:
        pytest.skip(found["why"])
    left = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*"))]
    return {**found, "left": left, "said": done.stderr}


def test_every_call_that_changes_files_is_shown(tmp_path):
    found = watched(tmp_path)
    assert found["code"] == 0
    assert [(name, path) for name, path, _ in found["calls"]] == [
        ("mkdir", "made"),
        ("openat", "made/file"),
        ("write", "made/file"),
        ("renameat2", "made/file"),
    ]
    assert {kind for *_, kind in found["calls"]} == {"made"}
    assert found["left"] == ["made", "made/other"]


@pytest.mark.parametrize(
    ("name", "left"),
    [("mkdir", []), ("openat", ["made"]), ("write", ["made", "made/file"])],
)
def test_a_process_is_killed_before_a_call_or_the_call_fails(name, left, tmp_path):
    for what in ("kill", "fail"):
        (tmp_path / what).mkdir()
        found = watched(tmp_path / what, name, what)
        assert what == "fail" or found["left"] == left
        assert ("No space left on device" in found["said"]) == (what == "fail")
