"""A client for exported models, of the embedded server and of TensorFlow Serving alike.

python -m keras_stackrnn.serving.client --model=anbn predict aaab
python -m keras_stackrnn.serving.client --model=anbn score 0,0,0,1
python -m keras_stackrnn.serving.client --model=reverse transduce 0110 10
python -m keras_stackrnn.serving.client --model=brackets classify "(())" "(()"
python -m keras_stackrnn.serving.client --model=anbn generate aaa
python -m keras_stackrnn.serving.client --model=anbn --max_symbols=1000 stream aaa
python -m keras_stackrnn.serving.client --model=anbn session start
python -m keras_stackrnn.serving.client --model=anbn session step 4711 0,0,1
python -m keras_stackrnn.serving.client --model=anbn --watch
"""

import pathlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

import grpc
import numpy as np
from absl import app, flags
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from keras_stackrnn import command_line
from keras_stackrnn.serving import client_sessions, tensors
from keras_stackrnn.serving.client_sessions import KeptSession, Session, padded, token_ids
from keras_stackrnn.serving.generation_messages import (
    GENERATION_SERVICE,
    GenerateRequest,
    GenerateResponse,
)

_MAX_RESPONSE_BYTES = 2**31 - 1
_BAR_WIDTH = 40

Arrays = dict[str, np.ndarray]


class Client:
    """Asks one model.

    Args:
        address: `host:port`, or `unix:/path` for a socket.
        model: name of the model.
        version: a version number; None asks for the latest.
        label: a version's label, instead of `version`.
        timeout_seconds: bounds every call.
        credentials: `grpc.ssl_channel_credentials(…)` for a server with TLS.

    Example:

    >>> with Client("127.0.0.1:8500", "anbn") as client:
    ...     client.predict(["aaab"])["next_symbol"]
    array([b'b'], dtype=object)
    """

    def __init__(
        self,
        address: str = "127.0.0.1:8500",
        model: str = "default",
        version: int | None = None,
        label: str | None = None,
        timeout_seconds: float = 10.0,
        credentials: grpc.ChannelCredentials | None = None,
    ):
        if version is not None and label is not None:
            raise ValueError(f"Give a version or a label, got version {version}, label {label!r}.")
        options = [("grpc.max_receive_message_length", _MAX_RESPONSE_BYTES)]
        if credentials is None:
            self._channel = grpc.insecure_channel(address, options)
        else:
            self._channel = grpc.secure_channel(address, credentials, options)
        self._stub = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._generate = self._channel.unary_stream(
            f"/{GENERATION_SERVICE}/Generate",
            request_serializer=GenerateRequest.SerializeToString,
            response_deserializer=GenerateResponse.FromString,
        )
        self._model = model
        self._version = version
        self._label = label
        self._timeout_seconds = timeout_seconds
        self._signatures: Mapping | None = None

    def call(
        self,
        signature: str,
        inputs: Mapping[str, np.ndarray],
        outputs: Sequence[str] = (),
        version: int | None = None,
    ) -> Arrays:
        """Calls any signature.

        Args:
            signature: its name.
            inputs: arrays by input name.
            outputs: names of the outputs wanted; all when empty.
            version: asks this version instead of the client's.

        Returns:
            Arrays by output name; strings come as `bytes`.
        """
        return self._arrays(self._predict(signature, inputs, outputs, version))

    def predict(self, sequences: Sequence[str] | Sequence[Sequence[int]]) -> Arrays:
        """Predicts the symbol after each sequence, given as texts or as token ids.

        Returns:
            `probabilities` and more: whatever `predict_text`, or `serving_default`, gives.
        """
        if len(sequences) and all(isinstance(sequence, str) for sequence in sequences):
            return self.call("predict_text", {"text": _strings(sequences)})
        return self.call("serving_default", padded(sequences))

    def score(self, sequences: Sequence[Sequence[int]]) -> list[Arrays]:
        """Scores every symbol of each sequence of token ids.

        Returns:
            For each sequence `log_probabilities` and `predictions`, as long as the sequence.
        """
        outputs = self.call("score", padded(sequences))
        # A batching server may have padded further than this call did.
        return [
            {name: array[row, : len(sequence)] for name, array in outputs.items()}
            for row, sequence in enumerate(sequences)
        ]

    def transduce(self, texts: Sequence[str]) -> list[str]:
        """Returns a transducer's answer to each text."""
        outputs = self.call("transduce", {"text": _strings(texts)}, ["answer"])
        return [answer.decode() for answer in outputs["answer"]]

    def classify(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """Returns a recognizer's labels of each text with their probabilities, the best first."""
        outputs = self.call("classify_text", {"text": _strings(texts)}, ["labels", "probabilities"])
        return [
            dict(
                sorted(
                    zip((label.decode() for label in labels), probabilities, strict=True),
                    key=lambda pair: -pair[1],
                )
            )
            for labels, probabilities in zip(
                outputs["labels"], outputs["probabilities"].tolist(), strict=True
            )
        ]

    def generate(
        self,
        texts: Sequence[str],
        max_symbols: int = 20,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> list[str]:
        """Continues each text by up to `max_symbols` symbols, drawn at `temperature`."""
        options = {"max_symbols": max_symbols, "temperature": temperature, "seed": seed}
        inputs = {"text": _strings(texts)}
        for name, value in options.items():
            inputs[name] = self._shaped("generate", name, value, len(texts))
        return [text.decode() for text in self.call("generate", inputs)["text"]]

    def stream(
        self,
        text: str,
        max_symbols: int = 20,
        temperature: float = 1.0,
        seed: int = 0,
        stop: Sequence[str] = (),
    ) -> Iterator[str]:
        """Continues a text, and yields what is added as the embedded server draws it.

        All of it is what `generate` gives, of any length; `timeout_seconds` does not bound it. To
        close the iterator ends the work.

        Args:
            text: what to continue.
            max_symbols: how many symbols to add at most.
            temperature: see `generate`.
            seed: see `generate`.
            stop: symbols before which to stop.
        """
        request = GenerateRequest(
            text=text, max_symbols=max_symbols, temperature=temperature, seed=seed, stop=stop
        )
        self._fill_spec(request.model_spec, None)
        call = self._generate(request)
        try:
            for part in call:
                if part.text:
                    yield part.text
        finally:
            call.cancel()

    def session(self, batch_size: int = 1) -> Session:
        """Begins `batch_size` sequences; their state travels with each call."""
        return Session(self, batch_size)

    def kept_session(self, batch_size: int = 1) -> KeptSession:
        """Begins `batch_size` sequences whose state the embedded server keeps between calls."""
        return KeptSession(self, batch_size).start()

    def signatures(self) -> Mapping:
        """Returns the model's `SignatureDef`s by name."""
        if self._signatures is None:
            request = get_model_metadata_pb2.GetModelMetadataRequest(
                metadata_field=["signature_def"]
            )
            self._fill_spec(request.model_spec, None)
            response = self._stub.GetModelMetadata(request, timeout=self._timeout_seconds)
            signature_map = get_model_metadata_pb2.SignatureDefMap()
            response.metadata["signature_def"].Unpack(signature_map)
            self._signatures = signature_map.signature_def
        return self._signatures

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def _fill_spec(self, spec, version: int | None) -> None:
        spec.name = self._model
        version = self._version if version is None else version
        if version is not None:
            spec.version.value = version
        elif self._label is not None:
            spec.version_label = self._label

    def _predict(self, signature, inputs, outputs=(), version=None) -> predict_pb2.PredictResponse:
        request = predict_pb2.PredictRequest(output_filter=outputs)
        self._fill_spec(request.model_spec, version)
        request.model_spec.signature_name = signature
        for name, array in inputs.items():
            tensors.to_proto(array, request.inputs[name])
        return self._stub.Predict(request, timeout=self._timeout_seconds)

    def _shaped(self, signature: str, name: str, value: float, batch_size: int) -> np.ndarray:
        """Returns an option as the signature wants it: one for all rows, or one for each."""
        infos = self.signatures()
        if signature not in infos or name not in infos[signature].inputs:
            raise ValueError(f"Model {self._model!r} has no input {name!r} of {signature!r}.")
        return tensors.option_of(infos[signature].inputs[name], value, batch_size)

    def _arrays(self, response: predict_pb2.PredictResponse) -> Arrays:
        return {
            name: tensors.from_proto(proto, max_bytes=_MAX_RESPONSE_BYTES)
            for name, proto in response.outputs.items()
        }


def bars(symbols: Iterable[str], probabilities: Iterable[float]) -> str:
    """Draws a line for each symbol: its name, its probability, and a bar as long."""
    lines = []
    for symbol, probability in zip(symbols, probabilities, strict=True):
        bar = "█" * round(float(probability) * _BAR_WIDTH)
        lines.append(f"{symbol!r:>8} {probability:6.1%} {bar}\n")
    return "".join(lines)


def watch(client: Client, keys: Iterable[str], output: TextIO) -> None:
    """Draws the prediction after each key.

    Args:
        client: asks the model.
        keys: single characters; backspace deletes one, the end of the line starts anew, and
            Ctrl-C or Ctrl-D ends.
        output: where the bars go.
    """
    text = ""
    _draw(client, text, output)
    for key in keys:
        if key in "\x03\x04":
            return
        if key in "\r\n":
            text = ""
        elif key in "\x7f\b":
            text = text[:-1]
        elif key.isprintable():
            text += key
        _draw(client, text, output)


def _draw(client: Client, text: str, output: TextIO) -> None:
    output.write(f"\n> {text}\n")
    try:
        outputs = client.predict([text])
    except grpc.RpcError as error:
        output.write(f"{error.details().splitlines()[0]}\n")
    else:
        symbols = [symbol.decode() for symbol in outputs["top_symbols"][0]]
        output.write(bars(symbols, outputs["top_probabilities"][0]))
    output.flush()


def _keys(stream: TextIO) -> Iterator[str]:
    """Yields characters as they are typed, or as they are read when nobody types."""
    if not stream.isatty():
        while key := stream.read(1):
            yield key
        return
    import termios
    import tty

    settings = termios.tcgetattr(stream)
    try:
        tty.setcbreak(stream)
        while key := stream.read(1):
            yield key
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, settings)


def _strings(texts: Sequence[str]) -> np.ndarray:
    array = np.empty(len(texts), np.object_)
    array[:] = [text.encode() for text in texts]
    return array


def _print_predictions(client: Client, texts: Sequence[str]) -> None:
    outputs = client.predict(texts)
    for row, text in enumerate(texts):
        print(text)
        symbols = [symbol.decode() for symbol in outputs["top_symbols"][row]]
        print(bars(symbols, outputs["top_probabilities"][row]), end="")


def _print_scores(client: Client, sequences: Sequence[Sequence[int]]) -> None:
    for sequence, scores in zip(sequences, client.score(sequences), strict=True):
        rows = zip(sequence, scores["log_probabilities"], scores["predictions"], strict=True)
        for token, log_probability, prediction in rows:
            print(f"{token:6d} {log_probability:9.4f}  predicted {prediction}")


def _print_labels(client: Client, texts: Sequence[str]) -> None:
    for text, labels in zip(texts, client.classify(texts), strict=True):
        print(text)
        print(bars(labels, labels.values()), end="")


def _print_continuations(client: Client, texts: Sequence[str]) -> None:
    values = flags.FLAGS
    options = (values.max_symbols, values.temperature, values.seed)
    print("\n".join(client.generate(texts, *options)))


def _print_stream(client: Client, texts: Sequence[str]) -> None:
    values = flags.FLAGS
    options = (values.max_symbols, values.temperature, values.seed, values.stop)
    for text in texts:
        for part in client.stream(text, *options):
            print(part, end="", flush=True)
        print()


_COMMANDS = {
    "predict": _print_predictions,
    "score": lambda client, texts: _print_scores(client, [token_ids(text) for text in texts]),
    "transduce": lambda client, texts: print("\n".join(client.transduce(texts))),
    "classify": _print_labels,
    "generate": _print_continuations,
    "stream": _print_stream,
    "session": client_sessions.run_command,
}


def define_flags(values: flags.FlagValues = flags.FLAGS) -> None:
    """Adds the client's flags to `values`."""
    of = {"flag_values": values}
    flags.DEFINE_string("server", "127.0.0.1:8500", "Address of the server's gRPC port.", **of)
    flags.DEFINE_string("model", "default", "Name of the model.", **of)
    flags.DEFINE_integer("version", None, "Version to ask; the latest by default.", **of)
    flags.DEFINE_string("label", None, "Label of the version to ask.", **of)
    flags.DEFINE_float("timeout_seconds", 10, "Bound of every call.", **of)
    flags.DEFINE_boolean("tls", False, "Speak TLS with the server.", **of)
    flags.DEFINE_string("tls_ca", None, "PEM file of whom to trust; the system's by default.", **of)
    flags.DEFINE_string("tls_key", None, "PEM file of the client's own key.", **of)
    flags.DEFINE_string("tls_certificate", None, "PEM file of the client's own certificate.", **of)
    flags.DEFINE_integer(
        "max_symbols", 20, "generate, stream: how many symbols to add at most.", **of
    )
    flags.DEFINE_float(
        "temperature", 1.0, "generate, stream: below 1 bolder, above 1 more random.", **of
    )
    flags.DEFINE_integer("seed", 0, "generate, stream: the same seed draws the same symbols.", **of)
    flags.DEFINE_multi_string("stop", [], "stream: a symbol before which to stop.", **of)
    flags.DEFINE_boolean("watch", False, "Draw the prediction while you type.", **of)


def credentials_from_flags(values: flags.FlagValues) -> grpc.ChannelCredentials | None:
    """Returns what `--tls` and its files say; None without."""
    files = {name: values[name].value for name in ("tls_ca", "tls_key", "tls_certificate")}
    if not values.tls:
        given = [f"--{name}" for name, path in files.items() if path]
        if given:
            raise app.UsageError(f"{given[0]} is set without --tls.")
        return None
    if bool(files["tls_key"]) != bool(files["tls_certificate"]):
        raise app.UsageError("--tls_key and --tls_certificate go together: give both or neither.")
    try:
        pems = [pathlib.Path(path).read_bytes() if path else None for path in files.values()]
    except OSError as error:
        raise app.UsageError(f"Cannot read {error.filename}: {error.strerror}.") from error
    return grpc.ssl_channel_credentials(*pems)


def main(argv: list[str]) -> None:
    values = flags.FLAGS
    arguments = argv[1:]
    with Client(
        values.server,
        values.model,
        values.version,
        values.label,
        values.timeout_seconds,
        credentials_from_flags(values),
    ) as client:
        command, *operands = arguments or [None]
        try:
            if values.watch:
                watch(client, _keys(sys.stdin), sys.stdout)
            elif command in _COMMANDS and operands:
                _COMMANDS[command](client, operands)
            else:
                raise app.UsageError(
                    f"Expected --watch, or {', '.join(_COMMANDS)} and what it is about, "
                    f"got {arguments}."
                )
        except grpc.RpcError as error:
            sys.exit(f"{error.code().name}: {error.details()}")


if __name__ == "__main__":
    command_line.run(sys.modules[__name__])
