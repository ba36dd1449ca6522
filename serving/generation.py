"""Continuations as they are drawn: the runs of the graph that make them.

A model's signature `generate_on` draws a part of a continuation and hands over its state. The parts
are short at first, for whoever waits for the first symbol, and get longer while a run is short:
others wait for a run and not for a stream. What is drawn does not depend on where the parts end.
"""

import time

import numpy as np
from tensorflow_serving.apis import model_pb2

from keras_stackrnn.serving import inference, status, tensors
from keras_stackrnn.serving.answers import ended
from keras_stackrnn.serving.batching import DirectRunner
from keras_stackrnn.serving.generation_messages import GenerateRequest, GenerateResponse
from keras_stackrnn.serving.lanes import LanedRunner
from keras_stackrnn.serving.models import Servable

SIGNATURE = "generate_on"
DEFAULT_MAX_SYMBOLS = 20
_LONGEST_PART = 512
_LONGEST_RUN_SECONDS = 0.05


class Continuation:
    """One text, and what is drawn after it, part by part.

    Args:
        servable: the version that draws; it has to stay loaded.
        runner: runs the graph.
        request: what to continue, and how.
    """

    def __init__(
        self, servable: Servable, runner: DirectRunner | LanedRunner, request: GenerateRequest
    ):
        self._signatures = servable.model.signatures
        if SIGNATURE not in self._signatures:
            raise status.failed_precondition(
                f'To stream what is generated takes a model with the signature "{SIGNATURE}", '
                f"and version {servable.version} of {servable.name} has none: export it anew"
            )
        self._signature = self._signatures[SIGNATURE]
        self._model = servable.model
        self._runner = runner
        self._spec = model_pb2.ModelSpec(name=servable.name)
        self._spec.version.value = servable.version
        self._text = request.text
        self._left = request.max_symbols if request.HasField("max_symbols") else DEFAULT_MAX_SYMBOLS
        if self._left < 0:
            raise status.invalid_argument(
                f"Expected max_symbols of 0 or more, got {request.max_symbols}"
            )
        temperature = request.temperature if request.HasField("temperature") else 1.0
        self._options = {"temperature": temperature, "seed": request.seed}
        self._stop = frozenset(request.stop)
        self._position = 0
        self._part = 1
        self._state: dict[str, np.ndarray] | None = None
        self._is_over = False

    async def part(self, deadline: float | None) -> GenerateResponse | None:
        """Draws the next part; None after the last one.

        Args:
            deadline: of this part, in seconds of `time.monotonic()`, or None.
        """
        if self._is_over:
            return None
        if self._state is None:
            self._state = await self._initial_state(deadline)
        started = time.monotonic()
        size = min(self._part, self._left)
        outputs = await self._run(size, deadline)
        self._adapt(time.monotonic() - started)
        self._text = ""
        self._position += size
        self._left -= size
        response = GenerateResponse(model_spec=self._spec)
        symbols = [symbol.decode("utf-8", "replace") for symbol in outputs["symbols"][0, :size]]
        stop = next((i for i, symbol in enumerate(symbols) if symbol in self._stop), None)
        response.symbols.extend(symbols[:stop])
        response.text = b"".join(outputs["written"][0, :size][:stop]).decode("utf-8", "replace")
        if stop is not None:
            response.finish_reason = "stop"
        elif not self._left:
            response.finish_reason = "length"
        self._is_over = bool(response.finish_reason)
        return response

    async def _initial_state(self, deadline) -> dict[str, np.ndarray]:
        signature = self._signatures[inference.INITIAL_STATE]
        infos = signature.definition.inputs
        feeds = {
            signature.inputs[name]: tensors.option_of(info, 1, rows=1)
            for name, info in infos.items()
        }
        plan = inference.Plan(feeds, signature.fetches)
        arrays = await ended(self._runner.submit(self._model, plan, deadline))
        return {name: arrays[tensor] for name, tensor in signature.outputs.items()}

    async def _run(self, size: int, deadline) -> dict[str, np.ndarray]:
        signature = self._signature
        infos = signature.definition.inputs
        options = {**self._options, "max_symbols": size, "position": self._position}
        feeds = {
            "text": np.array([self._text.encode()], np.object_),
            **self._state,
            **{n: tensors.option_of(infos[n], value, rows=1) for n, value in options.items()},
        }
        plan = inference.Plan(
            {signature.inputs[name]: array for name, array in feeds.items()}, signature.fetches
        )
        arrays = await ended(self._runner.submit(self._model, plan, deadline))
        outputs = {name: arrays[tensor] for name, tensor in signature.outputs.items()}
        self._state = {name: outputs[name] for name in self._state}
        return outputs

    def _adapt(self, seconds: float) -> None:
        if seconds > _LONGEST_RUN_SECONDS:
            self._part = max(1, self._part // 2)
        elif seconds < _LONGEST_RUN_SECONDS / 2:
            self._part = min(2 * self._part, _LONGEST_PART)
