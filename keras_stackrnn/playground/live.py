"""A model in Python, served as if it had been exported: what it is asked for is made when it is.

A SavedModel of a model takes seconds to write, load and warm up, most of them for signatures that
nobody who looks at a page asks for.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from keras_stackrnn.models import SequenceModel
from keras_stackrnn.serving import status
from keras_stackrnn.serving.inference import PREDICT_METHOD
from keras_stackrnn.serving.saved_model import Signature
from keras_stackrnn.trace.reading import sentence_of


class LiveModel:
    """What `serving.saved_model.SavedModel` is to a server.

    Args:
        path: stands for it in a server's log.
        make: makes the model, when it is first asked.
    """

    def __init__(self, path: Path, make: Callable[[], SequenceModel]):
        self.path = path
        self.signatures = _Signatures(make)

    def run(
        self,
        feeds: Mapping[str, np.ndarray],
        fetches: Sequence[str],
        timeout_seconds: float | None = None,
        lane: int = 0,
    ) -> list[np.ndarray]:
        """See `SavedModel.run`; what runs is not broken off, and there is one lane."""
        name = fetches[0].partition("/")[0]
        arrays = {_alias(each): array for each, array in feeds.items()}
        try:
            outputs = self.signatures.call(name, arrays)
        except tf.errors.InvalidArgumentError as error:
            # Outside of a session, a traceback of the graph stands before what is wrong.
            raise status.invalid_argument(sentence_of(error)) from None
        return [outputs[_alias(each)] for each in fetches]

    def close(self) -> None:
        self.signatures = _Signatures(None)


class _Signatures(Mapping):
    """Signatures by name; their graphs are made one by one, and what they were asked is kept."""

    def __init__(self, make: Callable[[], SequenceModel] | None):
        self._make = make
        self._lock = threading.RLock()
        self._untraced = None
        self._functions = {}
        self._traced: dict[str, Signature] = {}

    def call(self, name: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        self[name]
        specs, function = self._functions[name]
        outputs = function(*(tf.constant(arrays[spec.name], spec.dtype) for spec in specs))
        return {alias: output.numpy() for alias, output in outputs.items()}

    def __getitem__(self, name: str) -> Signature:
        with self._lock:
            if name not in self._traced:
                self._trace(name)
            return self._traced[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def _all(self) -> dict:
        with self._lock:
            if self._untraced is None:
                self._untraced = _signatures_of(self._make()) if self._make else {}
            return self._untraced

    def _trace(self, name: str) -> None:
        signature = self._all()[name]
        function = tf.function(
            signature.function, input_signature=signature.inputs, autograph=False
        ).get_concrete_function()
        definition = meta_graph_pb2.SignatureDef(method_name=PREDICT_METHOD)
        given = {spec.name: spec for spec in signature.inputs}
        for infos, specs in (
            (definition.inputs, given),
            (definition.outputs, function.structured_outputs),
        ):
            for alias, spec in specs.items():
                infos[alias].name = f"{name}/{alias}:0"
                infos[alias].dtype = spec.dtype.as_datatype_enum
                infos[alias].tensor_shape.CopyFrom(spec.shape.as_proto())
        self._functions[name] = signature.inputs, function
        self._traced[name] = Signature.from_proto(definition)


def _signatures_of(model: SequenceModel) -> dict:
    from keras_stackrnn.export.forms import require_servable, signatures_of
    from keras_stackrnn.export.reader import Reader
    from keras_stackrnn.export.symbols import Symbols

    symbols = Symbols(require_servable(model).vocabulary, marks=model.marks)
    return signatures_of(Reader(model), symbols)


def _alias(tensor_name: str) -> str:
    return tensor_name.partition("/")[2].removesuffix(":0")
