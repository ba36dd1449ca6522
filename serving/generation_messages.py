"""The messages of generation.proto, and what a request is as JSON."""

import pathlib

from google.protobuf import descriptor_pool, json_format
from tensorflow_serving.apis import model_pb2

from keras_stackrnn.serving import proto_files, status

_FILE = proto_files.load(
    pathlib.Path(__file__).with_name("generation.proto"), descriptor_pool.Default()
)
GENERATION_SERVICE = _FILE.services_by_name["GenerationService"].full_name
_CLASSES = proto_files.message_classes(_FILE)
GenerateRequest = _CLASSES["GenerateRequest"]
GenerateResponse = _CLASSES["GenerateResponse"]


def request_from_json(document: dict, spec: model_pb2.ModelSpec) -> GenerateRequest:
    """Reads the body of a REST request: the fields of `GenerateRequest` but for the model's."""
    if isinstance(document.get("stop"), str):
        document = {**document, "stop": [document["stop"]]}
    if "model_spec" in document or "modelSpec" in document:
        raise status.invalid_argument("The model is named in the address, got a model_spec as well")
    try:
        request = json_format.ParseDict(document, GenerateRequest())
    except (json_format.ParseError, UnicodeError) as error:
        raise status.invalid_argument(f"Not a request to generate: {error}") from error
    request.model_spec.CopyFrom(spec)
    return request
