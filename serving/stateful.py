"""Predict with a session: the signature's state stays here, and its number goes to and fro.

The inputs are those of OpenVINO's model server: `sequence_id`, a uint64, and
`sequence_control_input`, a uint32, 1 in the first request and 2 in the last. What a model's state
is, its signatures say: the outputs of `initial_state`, which a signature that reads on has both as
inputs and as outputs.
"""

import contextlib
import dataclasses
from collections.abc import Collection, Mapping

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow_serving.apis import model_pb2, predict_pb2

from keras_stackrnn.serving import inference, sessions, status, tensors
from keras_stackrnn.serving.answers import ended
from keras_stackrnn.serving.batching import DirectRunner
from keras_stackrnn.serving.lanes import LanedRunner
from keras_stackrnn.serving.models import ModelManager, Servable
from keras_stackrnn.serving.saved_model import SavedModel

SEQUENCE_ID = "sequence_id"
SEQUENCE_CONTROL = "sequence_control_input"
STEP = "step"

_CONTROLS = {
    SEQUENCE_ID: meta_graph_pb2.TensorInfo(dtype=tf.uint64.as_datatype_enum),
    SEQUENCE_CONTROL: meta_graph_pb2.TensorInfo(dtype=tf.uint32.as_datatype_enum),
}

# More than is right, so that what is wrong can be said.
_MAX_CONTROL_BYTES = 1024

Arrays = Mapping[str, np.ndarray]
Infos = Mapping[str, meta_graph_pb2.TensorInfo]


class StatefulPredict:
    """Answers Predict requests that name a session.

    Args:
        models: the served models.
        runner: runs the graphs.
        max_tensor_bytes: tensors beyond this size are refused.
        options: bounds of the sessions.
    """

    def __init__(
        self,
        models: ModelManager,
        runner: DirectRunner | LanedRunner,
        max_tensor_bytes: int,
        options: sessions.SessionOptions,
    ):
        self._models = models
        self._runner = runner
        self._max_tensor_bytes = max_tensor_bytes
        self.table = sessions.SessionTable(options)

    def concerns(self, spec: model_pb2.ModelSpec, names: Collection[str]) -> bool:
        """Whether inputs of these names ask for a session, and are no inputs of the model's."""
        if SEQUENCE_ID not in names and SEQUENCE_CONTROL not in names:
            return False
        with contextlib.suppress(status.ServingError), self._models.lease(spec) as servable:
            name = spec.signature_name or inference.DEFAULT_SIGNATURE
            signature = servable.model.signatures.get(name)
            return signature is None or signature.inputs.keys().isdisjoint(_CONTROLS)
        return True

    def infos(self, spec: model_pb2.ModelSpec, names: Collection[str]) -> Infos:
        """The inputs of a request that brings those `names`: state may be among them or not.

        `spec` is given the name of the signature that is meant.
        """
        with self._models.lease(spec) as servable:
            signatures = servable.model.signatures
            spec.signature_name = _reading_signature(signatures, spec)
            inputs = signatures[spec.signature_name].definition.inputs
            kept = _state_names(signatures).difference(names)
            shown = {name: info for name, info in inputs.items() if name not in kept}
        return {**shown, **{name: info for name, info in _CONTROLS.items() if name in names}}

    async def answer(
        self, request: predict_pb2.PredictRequest, deadline: float | None
    ) -> predict_pb2.PredictResponse:
        """Answers a request whose inputs `concerns` is true of, and takes those out of it."""
        spec = request.model_spec
        session_id = _number(request.inputs, SEQUENCE_ID)
        control = _number(request.inputs, SEQUENCE_CONTROL)
        if control not in (sessions.CONTINUE, sessions.START, sessions.END):
            raise status.invalid_argument(
                f"Unexpected value of {SEQUENCE_CONTROL}: expected 0, {sessions.START} (start) or "
                f"{sessions.END} (end), got {control}"
            )
        async with self.table.turn(spec.name, session_id, control) as session:
            with contextlib.ExitStack() as lease:
                servable = self._servable(session, spec, lease)
                response, state = await self._run(servable, session.state, request, deadline)
                tensors.to_proto(np.array([session.id], np.uint64), response.outputs[SEQUENCE_ID])
                self.table.keep(session, state)
                if servable is not session.servable:
                    session.settle(servable, lease.pop_all())
        return response

    def close(self) -> None:
        self.table.close()

    def _servable(self, session, spec, lease: contextlib.ExitStack) -> Servable:
        """The version that the session lives on, or the one that it is asked to move to."""
        present = session.servable
        asked = spec.WhichOneof("version_choice")
        is_at_home = asked == "version" and present and spec.version.value == present.version
        if present and (not asked or is_at_home):
            return present
        found = lease.enter_context(self._models.lease(spec))
        if present and found is not present:
            _check_it_fits(session, found, spec)
        return found

    async def _run(self, servable: Servable, state: Arrays, request, deadline):
        signatures = servable.model.signatures
        spec = request.model_spec
        spec.signature_name = _reading_signature(signatures, spec)
        signature = signatures[spec.signature_name]
        names = _state_names(signatures)
        kept = names.difference(request.inputs)
        shown = {
            spec.signature_name: dataclasses.replace(
                signature,
                inputs=_without(signature.inputs, kept),
                # Who names outputs may read the state.
                outputs=_without(signature.outputs, () if request.output_filter else names),
            )
        }
        planned = inference.plan_predict(shown, request, self._max_tensor_bytes)
        if not state and kept:
            rows = _rows(planned.feeds.values())
            state = await self._initial_state(servable.model, rows, deadline)
        feeds = {**planned.feeds, **{signature.inputs[name]: state[name] for name in kept}}
        plan = inference.Plan(feeds, signature.fetches)
        arrays = await ended(self._runner.submit(servable.model, plan, deadline))
        after = {name: arrays[signature.outputs[name]] for name in names}
        for name in kept:
            if after[name].shape[:1] != state[name].shape[:1]:
                raise status.invalid_argument(
                    f"Expected {len(state[name])} rows as in the session's first request, "
                    f"got {len(after[name])}"
                )
        return inference.predict_response(shown, request, servable.version, arrays), after

    async def _initial_state(self, model: SavedModel, rows: int, deadline) -> Arrays:
        signature = model.signatures[inference.INITIAL_STATE]
        feeds = {
            signature.inputs[name]: tensors.option_of(info, rows, rows)
            for name, info in signature.definition.inputs.items()
        }
        run = self._runner.submit(model, inference.Plan(feeds, signature.fetches), deadline)
        arrays = await ended(run)
        return {name: arrays[tensor] for name, tensor in signature.outputs.items()}


def _state_names(signatures: inference.Signatures) -> frozenset[str]:
    if inference.INITIAL_STATE not in signatures:
        raise status.failed_precondition(
            f'A session needs a model with the signature "{inference.INITIAL_STATE}"; this one has '
            f"{', '.join(sorted(signatures))}"
        )
    return frozenset(signatures[inference.INITIAL_STATE].outputs)


def _reading_signature(signatures: inference.Signatures, spec: model_pb2.ModelSpec) -> str:
    """The name of the signature that reads on from a state, `step` unless `spec` says another."""
    names = _state_names(signatures)
    asked = spec.signature_name
    # Clients of OpenVINO's server cannot name one.
    for name in [asked] if asked else [inference.DEFAULT_SIGNATURE, STEP]:
        signature = signatures.get(name)
        if signature and names <= signature.inputs.keys() and names <= signature.outputs.keys():
            return name
    if asked and asked not in signatures:
        raise status.failed_precondition(f'Serving signature key "{asked}" not found.')
    raise status.failed_precondition(
        f'The signature "{asked or STEP}" has no state to keep: expected inputs and outputs '
        f"{', '.join(sorted(names))}"
    )


def _without(aliases: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    return {alias: tensor for alias, tensor in aliases.items() if alias not in names}


def _rows(arrays: Collection[np.ndarray]) -> int:
    sizes = {len(array) for array in arrays if array.ndim}
    if len(sizes) != 1:
        raise status.invalid_argument(
            "The first request of a session says how many rows it has: expected the same number "
            f"in every input, got {sorted(sizes)}"
        )
    return sizes.pop()


def _number(inputs: Mapping[str, tensor_pb2.TensorProto], name: str) -> int:
    """Takes an input of one integer out of the request; 0 if it is not there."""
    if name not in inputs:
        return 0
    try:
        array = tensors.from_proto(inputs[name], _MAX_CONTROL_BYTES)
    except ValueError as error:
        raise status.invalid_argument(f"tensor parsing error: {name}: {error}") from error
    del inputs[name]
    if array.size != 1 or array.dtype.kind not in "iu" or array.item() < 0:
        raise status.invalid_argument(
            f"Expected one integer of 0 or more as {name}, got {array.tolist()} of type "
            f"{array.dtype.name}"
        )
    return array.item()


def _check_it_fits(session: sessions.Session, servable: Servable, spec) -> None:
    signatures = servable.model.signatures
    names = _state_names(signatures)
    inputs = signatures[_reading_signature(signatures, spec)].definition.inputs
    wrong = sorted(names.symmetric_difference(session.state))
    wrong += [
        name
        for name in sorted(names.intersection(session.state))
        if not _takes(inputs[name], session.state[name])
    ]
    if wrong:
        raise status.failed_precondition(
            f"Session {session.id} of {session.name} lives on version {session.servable.version} "
            f"and cannot move to version {servable.version}, whose state is another: "
            f"{', '.join(wrong)}"
        )


def _takes(info: meta_graph_pb2.TensorInfo, array: np.ndarray) -> bool:
    shape = tf.TensorShape(info.tensor_shape)
    return tf.as_dtype(info.dtype).as_numpy_dtype == array.dtype and shape.is_compatible_with(
        array.shape
    )
