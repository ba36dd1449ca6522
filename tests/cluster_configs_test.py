"""The files in cluster/ are what Ray and this package read."""

import json
import shlex
from pathlib import Path

import jsonschema
import pytest
import yaml
from absl import flags
from training_case import REPOSITORY

from keras_stackrnn.training.sweep import __main__ as sweep
from keras_stackrnn.training.sweep import places

ray = pytest.importorskip("ray")
FOLDER = REPOSITORY / "cluster"


@pytest.fixture(scope="module")
def objects():
    """What `kubectl apply` makes, by kind."""
    documents = yaml.safe_load_all((FOLDER / "rayjob.yaml").read_text())
    return {document["kind"]: document for document in documents}


def groups_of(job):
    spec = job["spec"]["rayClusterSpec"]
    return [spec["headGroupSpec"], *spec["workerGroupSpecs"]]


def test_the_cluster_launcher_reads_its_file():
    schema = json.loads((Path(ray.__file__).parent / "autoscaler/ray-schema.json").read_text())
    values = yaml.safe_load((FOLDER / "ssh_machines.yaml").read_text())
    # The schema forgets the least number of machines, which its local provider asks for.
    assert (
        values.pop("min_workers") == values["max_workers"] == len(values["provider"]["worker_ips"])
    )
    jsonschema.validate(values, schema)


def test_the_sweep_of_the_job_is_one(objects):
    program, command, *arguments = shlex.split(objects["RayJob"]["spec"]["entrypoint"])
    assert (program, command) == ("keras-stackrnn", "sweep")
    values = flags.FlagValues()
    sweep.define_flags(values)
    values([program, *arguments])
    assert len(sweep.configs_from_flags(values)) == 200
    assert places.given(values)["cluster"] == "auto"


def test_the_head_alone_keeps_what_is_found_and_computes_nothing(objects):
    head, *workers = groups_of(objects["RayJob"])
    [container] = head["template"]["spec"]["containers"]
    [volume] = head["template"]["spec"]["volumes"]
    [mount] = container["volumeMounts"]
    assert mount["name"] == volume["name"]
    claim = objects["PersistentVolumeClaim"]["metadata"]["name"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim
    assert f"--output_dir={mount['mountPath']}/" in objects["RayJob"]["spec"]["entrypoint"]
    assert head["rayStartParams"]["num-cpus"] == "0"
    for worker in workers:
        assert "volumes" not in worker["template"]["spec"]


def test_all_nodes_have_one_image_with_the_version_of_ray_that_is_named(objects):
    containers = [
        container
        for group in groups_of(objects["RayJob"])
        for container in group["template"]["spec"]["containers"]
    ]
    assert len({container["image"] for container in containers}) == 1
    dockerfile = (FOLDER / "Dockerfile").read_text()
    assert f"-t {containers[0]['image']} " in dockerfile
    version = objects["RayJob"]["spec"]["rayClusterSpec"]["rayVersion"]
    assert f"FROM rayproject/ray:{version}-py3" in dockerfile
    for group in groups_of(objects["RayJob"])[1:]:
        [container] = group["template"]["spec"]["containers"]
        assert group["rayStartParams"]["num-cpus"] == container["resources"]["limits"]["cpu"]
