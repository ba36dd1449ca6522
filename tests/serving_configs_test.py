"""The files for the real TensorFlow Serving: they parse, agree, and drive the embedded server."""

import json
import pathlib
import re

import pytest
import serving_fixtures as fixtures
import yaml
from absl import flags
from tensorflow_serving.apis import get_model_status_pb2

from keras_stackrnn.serving import config, server
from keras_stackrnn.serving.batching import BatchingOptions

FOLDER = pathlib.Path(server.__file__).resolve().parent / "tf_serving"


def docker_arguments() -> list[str]:
    text = (FOLDER / "Dockerfile").read_text().replace("\\\n", "")
    command = json.loads(re.search(r"^ENTRYPOINT (\[.*\])$", text, re.MULTILINE)[1])
    assert command[0] == "tensorflow_model_server"
    return command[1:]


def compose_service() -> dict:
    [service] = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"].values()
    return service


def kubernetes_objects() -> dict[str, dict]:
    documents = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())
    return {document["kind"]: document for document in documents}


def test_dockerfile_and_compose_start_the_same_server():
    assert docker_arguments() == compose_service()["command"]
    image = re.search(r"^FROM (\S+)$", (FOLDER / "Dockerfile").read_text(), re.MULTILINE)[1]
    assert compose_service()["image"] == image


def test_the_embedded_server_takes_the_same_command_line():
    arguments = [argument.replace("/config/", f"{FOLDER}/") for argument in docker_arguments()]
    values = flags.FlagValues()
    server.define_flags(values)
    values(["server", *arguments])
    options = server.options_from_flags(values)
    assert options.batching.pad_variable_length_inputs
    assert options.prometheus_path == config.PROMETHEUS_PATH
    assert options.health_service
    assert options.versions.allow_version_labels_for_unavailable_models


def test_the_embedded_servers_own_batching_differs_in_patience_alone():
    own = config.read(FOLDER.parent / "batching.config", config.BatchingParameters)
    real = config.read(FOLDER / "batching.config", config.BatchingParameters)
    assert own.batch_timeout_micros.value > real.batch_timeout_micros.value
    real.batch_timeout_micros.value = own.batch_timeout_micros.value
    assert own == real


def test_the_model_config_drives_the_embedded_server(tmp_path):
    models = config.read(FOLDER / "models.config", config.ModelServerConfig)
    [model] = models.model_config_list.config
    base = tmp_path / "models" / model.name
    base.mkdir(parents=True)
    for version in (1, 2, 3):
        fixtures.save_next_symbol(base / str(version), scale=float(version))
    assert model.base_path == f"/models/{model.name}"
    model.base_path = str(base)
    batching = BatchingOptions.from_proto(
        config.read(FOLDER / "batching.config", config.BatchingParameters)
    )
    with fixtures.RunningServer(models, batching=batching) as running:
        request = get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = model.name
        response = running.management.GetModelStatus(request)
        assert [entry.version for entry in response.model_version_status] == [3, 2]
        answer = running.prediction.Predict(fixtures.sequence_request([1], name=model.name))
        assert answer.model_spec.version.value == 3


def test_the_example_of_an_ssl_config_parses():
    ssl = config.read(FOLDER / "ssl.config.example", config.SSLConfig)
    assert ssl.client_verify
    assert ssl.server_key.startswith("-----BEGIN PRIVATE KEY-----\n")


def test_kubernetes_objects_fit_together():
    objects = kubernetes_objects()
    assert set(objects) == {"Deployment", "Service", "HorizontalPodAutoscaler"}
    deployment, service = objects["Deployment"], objects["Service"]
    scaler = objects["HorizontalPodAutoscaler"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert service["spec"]["selector"] == labels
    assert scaler["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert scaler["spec"]["scaleTargetRef"]["kind"] == "Deployment"
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= set(ports)
    arguments = dict(argument.lstrip("-").split("=", 1) for argument in docker_arguments())
    assert ports == {"grpc": int(arguments["port"]), "rest": int(arguments["rest_api_port"])}
    annotations = deployment["spec"]["template"]["metadata"]["annotations"]
    monitoring = config.read(FOLDER / "monitoring.config", config.MonitoringConfig)
    assert annotations["prometheus.io/path"] == monitoring.prometheus_config.path


@pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe", "livenessProbe"])
def test_kubernetes_probes_ask_for_what_the_server_answers(probe):
    [container] = kubernetes_objects()["Deployment"]["spec"]["template"]["spec"]["containers"]
    question = container[probe]
    if "grpc" in question:
        assert question["grpc"]["service"] in server.grpc_services.HEALTH_NAMES
        assert "--enable_grpc_healthcheck_service=true" in docker_arguments()
    else:
        models = config.read(FOLDER / "models.config", config.ModelServerConfig)
        names = {model.name for model in models.model_config_list.config}
        assert question["httpGet"]["path"].removeprefix("/v1/models/") in names
