"""One SavedModel in memory, run as TensorFlow Serving runs it: through a v1 Session."""

import dataclasses
import math
import pathlib
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.util import deprecation

SERVE_TAG = "serve"


@dataclasses.dataclass(frozen=True)
class Signature:
    """A `SignatureDef` as plain Python, which is looked into much faster than a message.

    Attributes:
        definition: the message itself.
        method: its `method_name`.
        defaults: what is fed for inputs that a request leaves out, by alias.
        inputs: names of the tensors to feed, by alias, sorted.
        outputs: names of the tensors to fetch, by alias, sorted.
        output_types: their types, by alias.
        fetches: all of the outputs' names, sorted and each once.
    """

    definition: meta_graph_pb2.SignatureDef
    method: str
    defaults: Mapping[str, tensor_pb2.TensorProto]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    output_types: Mapping[str, int]
    fetches: tuple[str, ...]

    @classmethod
    def from_proto(cls, definition: meta_graph_pb2.SignatureDef) -> "Signature":
        outputs = {alias: info.name for alias, info in sorted(definition.outputs.items())}
        return cls(
            definition,
            definition.method_name,
            dict(definition.defaults),
            {alias: info.name for alias, info in sorted(definition.inputs.items())},
            outputs,
            {alias: info.dtype for alias, info in definition.outputs.items()},
            tuple(sorted(set(outputs.values()))),
        )


class SavedModel:
    """A loaded SavedModel.

    `Session.run` would cast feeds to the placeholder's type and check shapes with texts of its own.
    Feeding the runtime directly gives the callers exactly what TensorFlow Serving gives them, and
    saves its overhead.

    Args:
        path: folder with `saved_model.pb`.
        session_config: `tf.compat.v1.ConfigProto` for the session, or None.
    """

    def __init__(self, path: str | pathlib.Path, session_config=None):
        self.path = pathlib.Path(path)
        graph = tf.Graph()
        self._session = tf.compat.v1.Session(graph=graph, config=session_config)
        try:
            # TensorFlow advises another loader, but this one is what TensorFlow Serving does.
            with graph.as_default(), deprecation.silence():
                meta_graph = tf.compat.v1.saved_model.load(
                    self._session, [SERVE_TAG], str(self.path)
                )
            self._session._extend_graph()
        except BaseException:
            self._session.close()
            raise
        self.signatures: Mapping[str, Signature] = {
            name: Signature.from_proto(definition)
            for name, definition in meta_graph.signature_def.items()
        }
        self._endpoints = {}
        self._graph = graph

    def run(
        self,
        feeds: Mapping[str, np.ndarray],
        fetches: Sequence[str],
        timeout_seconds: float | None = None,
        lane: int = 0,
    ) -> list[np.ndarray]:
        """Runs the graph.

        Args:
            feeds: arrays by tensor name.
            fetches: names of the tensors to compute.
            timeout_seconds: the run is broken off with `DeadlineExceededError` after this time.
            lane: which of the session's pools of threads runs it, if it was given several.

        Returns:
            One array for each name in `fetches`.
        """
        options = None
        if timeout_seconds is not None or lane:
            run_options = tf.compat.v1.RunOptions(inter_op_thread_pool=lane)
            if timeout_seconds is not None:
                run_options.timeout_in_ms = max(1, math.ceil(timeout_seconds * 1000))
            options = pywrap_tf_session.TF_NewBufferFromString(run_options.SerializeToString())
        try:
            fetched = self._session._call_tf_sessionrun(
                options,
                {self._endpoint(name): array for name, array in feeds.items()},
                [self._endpoint(name) for name in fetches],
                [],
                None,
            )
            return [each if isinstance(each, np.ndarray) else _scalar(each) for each in fetched]
        finally:
            if options is not None:
                pywrap_tf_session.TF_DeleteBuffer(options)

    def close(self) -> None:
        self._session.close()

    def _endpoint(self, name):
        endpoint = self._endpoints.get(name)
        if endpoint is None:
            endpoint = self._graph.get_tensor_by_name(name)._as_tf_output()
            self._endpoints[name] = endpoint
        return endpoint


def _scalar(value) -> np.ndarray:
    """Tensors of rank 0 come as NumPy's scalars, and strings as bytes, whose last zeros NumPy's own
    type for them would drop."""
    return np.array(value, np.object_ if isinstance(value, bytes) else value.dtype)
