"""Load on the embedded server, as ratios to a gRPC server that does nothing.

python benchmarks/serving.py                          # requests a second, p50 and p99
python benchmarks/serving.py --model=soft_stack       # of another model
python benchmarks/serving.py --swap_requests=100000   # versions swapped under load: none may fail
python benchmarks/serving.py --large_symbols=64000    # small requests beside large ones

Both servers and the client run on this machine and speak over loopback with the same messages. The
do-nothing servers answer every request with one ready-made response; they come in grpcio's two
flavours, and the ratio is to the faster one. Rounds alternate between the servers and the medians
are compared, so that whatever else the machine does hits all of them alike.

The model is as large as those that learn to memorize; its weights are drawn, as they change nothing
about what a run costs.
"""

import asyncio
import concurrent.futures
import contextlib
import gc
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import grpc
import numpy as np
import tensorflow as tf
from absl import app, flags, logging
from tensorflow_serving.apis import predict_pb2

from keras_stackrnn.export import export
from keras_stackrnn.models import NextSymbolModel

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
METHOD = "/tensorflow.serving.PredictionService/Predict"
MODEL = "bench"
UNITS = 60
STACKS = 10
VOCABULARY = "0123456789"
SYMBOLS = len(VOCABULARY)

# Load.
flags.DEFINE_integer("concurrency", 32, "Requests under way at any time.")
flags.DEFINE_integer("length", 50, "Symbols in a request's one sequence.")
flags.DEFINE_integer("requests", 5000, "Requests in a round.")
flags.DEFINE_integer("rounds", 5, "Rounds against each server.")
flags.DEFINE_integer("swap_requests", 0, "Instead: this many requests while versions are swapped.")
flags.DEFINE_integer(
    "large_symbols",
    0,
    "Instead: small requests, one after the other, alone and beside a client that asks about 32 "
    "sequences of so many symbols together, and again when it has the answer.",
)
flags.DEFINE_integer("swap_every", 10_000, "A new version after this many requests.")

# Server.
flags.DEFINE_enum(
    "model",
    "rounded_stack",
    ["rounded_stack", "soft_stack", "rnn"],
    "What to serve: an export of a stack model, or a recurrent network without memories.",
)
flags.DEFINE_string("model_base_path", "", "Instead: a model exported before.")
flags.DEFINE_integer("symbols", SYMBOLS, "Size of its vocabulary.")
flags.DEFINE_string(
    "batching_parameters_file",
    str(REPOSITORY / "serving" / "batching.config"),
    "Text BatchingParameters.",
)
flags.DEFINE_enum(
    "idle_server", None, ["asyncio", "threads"], "Be a do-nothing server: the answer is read."
)
flags.DEFINE_integer("port", None, "Port of the do-nothing server.")

FLAGS = flags.FLAGS


class SmallRNN(tf.Module):
    """A recurrent next-symbol model with the default signature of an exported one."""

    def __init__(self, seed: int):
        super().__init__()
        normal = np.random.default_rng(seed).normal
        self.kernel = tf.Variable(normal(size=(SYMBOLS, UNITS)).astype("float32"))
        self.recurrent_kernel = tf.Variable(0.2 * normal(size=(UNITS, UNITS)).astype("float32"))
        self.output_kernel = tf.Variable(normal(size=(UNITS, SYMBOLS)).astype("float32"))

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None], tf.int32, "tokens"),
            tf.TensorSpec([None], tf.int32, "lengths"),
        ]
    )
    def predict(self, tokens, lengths):
        inputs = tf.transpose(tf.gather(self.kernel, tokens), [1, 0, 2])

        def step(time_step, hidden):
            new = tf.sigmoid(inputs[time_step] + hidden @ self.recurrent_kernel)
            return time_step + 1, tf.where((time_step < lengths)[:, None], new, hidden)

        hidden = tf.while_loop(
            lambda time_step, _: time_step < tf.shape(tokens)[1],
            step,
            [0, tf.zeros([tf.shape(tokens)[0], UNITS])],
        )[1]
        probabilities = tf.nn.softmax(hidden @ self.output_kernel)
        return {
            "probabilities": probabilities,
            "next_token": tf.argmax(probabilities, -1, tf.int32),
            "log_likelihood": tf.math.log(tf.reduce_max(probabilities, -1)),
        }

    def export(self, base_path: pathlib.Path, version: int) -> None:
        tf.saved_model.save(self, str(base_path / str(version)), signatures=self.predict)

    def probabilities(self, sequence: np.ndarray) -> np.ndarray:
        return self.predict(sequence[None], [len(sequence)])["probabilities"].numpy()


class StackModel:
    """A next-symbol model with stacks, and what Keras makes of a sequence."""

    def __init__(self, seed: int, rounding: bool):
        self._model = NextSymbolModel(
            kind="stack",
            vocabulary=VOCABULARY,
            units=UNITS,
            memories=STACKS,
            use_recurrent_kernel=False,
            rounding=rounding,
        )
        normal = np.random.default_rng(seed).normal
        self._model.set_weights([normal(size=weight.shape) for weight in self._model.weights])

    def export(self, base_path: pathlib.Path, version: int) -> None:
        export(self._model, base_path, version=version)

    def probabilities(self, sequence: np.ndarray) -> np.ndarray:
        return tf.nn.softmax(self._model(sequence[None])[:, -1]).numpy()


def make_model(seed: int) -> SmallRNN | StackModel:
    if FLAGS.model == "rnn":
        return SmallRNN(seed)
    return StackModel(seed, rounding=FLAGS.model == "rounded_stack")


def request_for(*sequences: np.ndarray) -> predict_pb2.PredictRequest:
    request = predict_pb2.PredictRequest()
    request.model_spec.name = MODEL
    request.inputs["tokens"].CopyFrom(tf.make_tensor_proto(np.stack(sequences), tf.int32))
    lengths = [len(sequence) for sequence in sequences]
    request.inputs["lengths"].CopyFrom(tf.make_tensor_proto(lengths, tf.int32))
    return request


def run_idle_server(flavour: str, port: int, response: predict_pb2.PredictResponse) -> None:
    # As the embedded server does: the collector would cost more than the requests.
    gc.collect()
    gc.freeze()
    handlers = {}

    def generic_handler(method):
        handlers["Predict"] = grpc.unary_unary_rpc_method_handler(
            method,
            predict_pb2.PredictRequest.FromString,
            predict_pb2.PredictResponse.SerializeToString,
        )
        return grpc.method_handlers_generic_handler(METHOD.split("/")[1], handlers)

    async def serve():
        async def answer(request, context):
            return response

        server = grpc.aio.server()
        server.add_generic_rpc_handlers((generic_handler(answer),))
        server.add_insecure_port(f"127.0.0.1:{port}")
        await server.start()
        await server.wait_for_termination()

    if flavour == "asyncio":
        asyncio.run(serve())
        return
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((generic_handler(lambda request, context: response),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


@contextlib.contextmanager
def running(*command: str):
    """Runs a server as a process of its own, which can be written to."""
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def server_command(base_path: str | pathlib.Path, port: int) -> list[str]:
    return [
        "-m",
        "keras_stackrnn.serving.server",
        f"--model_name={MODEL}",
        f"--model_base_path={base_path}",
        f"--port={port}",
        "--enable_batching",
        f"--batching_parameters_file={FLAGS.batching_parameters_file}",
    ]


def idle_command(flavour: str, port: int) -> list[str]:
    return [str(pathlib.Path(__file__).resolve()), f"--idle_server={flavour}", f"--port={port}"]


class Load:
    """Keeps a number of requests under way and looks at every answer.

    Args:
        port: of the server on this machine.
        requests: sent in turn.
        check: called with the request's index and the response.
    """

    def __init__(self, port: int, requests, check=lambda index, response: None):
        # Each has a connection of its own, as clients have.
        options = [("grpc.use_local_subchannel_pool", 1)]
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}", options)
        self._call = self._channel.unary_unary(
            METHOD,
            predict_pb2.PredictRequest.SerializeToString,
            predict_pb2.PredictResponse.FromString,
        )
        self._requests = requests
        self._check = check
        self.failures: list[str] = []

    async def first_response(self) -> predict_pb2.PredictResponse:
        """Waits for the server, however long it takes to load."""
        return await self._call(self._requests[0], wait_for_ready=True, timeout=120)

    async def run(
        self, count: int, at_request=lambda number: None, concurrency: int | None = None
    ) -> tuple[float, list[float]]:
        """Sends `count` requests; returns requests a second and each one's seconds."""
        numbers = iter(range(count))
        seconds = []

        async def worker():
            for number in numbers:
                at_request(number)
                index = number % len(self._requests)
                started = time.perf_counter()
                try:
                    response = await self._call(self._requests[index], timeout=60)
                except grpc.RpcError as error:
                    self.failures.append(f"{error.code()} {error.details()}")
                else:
                    seconds.append(time.perf_counter() - started)
                    self._check(index, response)

        started = time.perf_counter()
        await asyncio.gather(*(worker() for _ in range(concurrency or FLAGS.concurrency)))
        return count / (time.perf_counter() - started), seconds


async def compare(base_path: str) -> None:
    random = np.random.default_rng(0)
    sequences = random.integers(0, FLAGS.symbols, (64, FLAGS.length), np.int32)
    requests = [request_for(sequence) for sequence in sequences]
    idle_servers = {"do-nothing, asyncio": "asyncio", "do-nothing, threads": "threads"}
    names = [*idle_servers, "embedded server"]
    ports = free_ports(len(names))
    loads = [Load(port, requests) for port in ports]
    with contextlib.ExitStack() as stack:
        stack.enter_context(running(*server_command(base_path, ports[-1])))
        idle_processes = [
            stack.enter_context(running(*idle_command(flavour, port)))
            for flavour, port in zip(idle_servers.values(), ports, strict=False)
        ]
        response = await loads[-1].first_response()
        for process in idle_processes:
            with process.stdin as stream:
                stream.write(response.SerializeToString())
        for load in loads:
            await load.first_response()
            await load.run(FLAGS.requests // 10)
        rates = {name: [] for name in names}
        seconds = {name: [] for name in names}
        for _ in range(FLAGS.rounds):
            for name, load in zip(names, loads, strict=True):
                rate, times = await load.run(FLAGS.requests)
                rates[name].append(rate)
                seconds[name].append(times)
    medians = {name: statistics.median(rates[name]) for name in names}
    print(f"{FLAGS.concurrency} concurrent requests of one sequence of {FLAGS.length} symbols")
    print(f"{'':22}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'p99/p50':>9}{'failed':>8}")
    for name, load in zip(names, loads, strict=True):
        p50 = statistics.median(np.quantile(times, 0.5) for times in seconds[name])
        p99 = statistics.median(np.quantile(times, 0.99) for times in seconds[name])
        print(
            f"{name:22}{medians[name]:12.0f}{p50 * 1e3:9.1f}{p99 * 1e3:9.1f}{p99 / p50:9.1f}"
            f"{len(load.failures):8d}"
        )
    ratio = medians["embedded server"] / max(medians[name] for name in idle_servers)
    print(f"ratio of requests a second: {ratio:.3f} (at least 0.5 is the goal)")


async def beside_large(base_path: str) -> None:
    """Asks small questions, one after the other, alone and beside large ones, in turn."""
    random = np.random.default_rng(0)
    small = [request_for(random.integers(0, FLAGS.symbols, 20, np.int32)) for _ in range(64)]
    length = FLAGS.large_symbols // 32
    large = request_for(*random.integers(0, FLAGS.symbols, (32, length), np.int32))
    large.output_filter.append("next_token")
    [port] = free_ports(1)
    with running(*server_command(base_path, port)):
        load, heavy = Load(port, small), Load(port, [large])
        await load.first_response()
        await heavy.first_response()
        ratios = []
        for _ in range(FLAGS.rounds):
            quantiles = []
            for is_beside in (False, True):
                asking = asyncio.create_task(heavy.run(10**9 if is_beside else 1, concurrency=1))
                if not is_beside:
                    await asking
                _, seconds = await load.run(FLAGS.requests, concurrency=1)
                asking.cancel()
                quantiles.append(np.quantile(seconds, [0.5, 0.99]) * 1e3)
            alone, beside = quantiles
            ratios.append(beside[1] / alone[1])
            print(
                f"p50 {alone[0]:.1f} ms, p99 {alone[1]:.1f} ms alone; p50 {beside[0]:.1f} ms, "
                f"p99 {beside[1]:.1f} ms beside 32 sequences of {length} symbols"
            )
    print(f"ratio of p99: {statistics.median(ratios):.2f} (at most 3 is the goal)")
    print(f"failed: {len(load.failures)} {load.failures[:3]}")


async def swap(folder: pathlib.Path) -> None:
    """Sends requests while a new version with other weights replaces the last, again and again."""
    random = np.random.default_rng(0)
    sequences = [
        random.integers(0, SYMBOLS, random.integers(1, FLAGS.length + 1), np.int32)
        for _ in range(64)
    ]
    expected = []
    for seed in (0, 1):
        model = make_model(seed)
        model.export(folder / "exports", seed + 1)
        expected.append([model.probabilities(sequence) for sequence in sequences])
    base = folder / MODEL
    base.mkdir()
    wrong, answers = [], {}

    def install(version: int) -> None:
        aside = base / f"{version}.writing"
        shutil.copytree(folder / "exports" / str(version % 2 + 1), aside)
        aside.rename(base / str(version))

    def check(index: int, response: predict_pb2.PredictResponse) -> None:
        version = response.model_spec.version.value
        answers[version] = answers.get(version, 0) + 1
        got = tf.make_ndarray(response.outputs["probabilities"])
        if not np.allclose(got, expected[version % 2][index], rtol=0, atol=1e-6):
            wrong.append((version, index))

    def at_request(number: int) -> None:
        if number and number % FLAGS.swap_every == 0:
            install(1 + number // FLAGS.swap_every)

    install(1)
    [port] = free_ports(1)
    with running(*server_command(base, port)):
        load = Load(port, [request_for(sequence) for sequence in sequences], check)
        await load.first_response()
        rate, seconds = await load.run(FLAGS.swap_requests, at_request)
    print(f"{FLAGS.swap_requests} requests, {rate:.0f} a second, by version: {answers}")
    p50, p99 = np.quantile(seconds, [0.5, 0.99])
    print(f"p50 {p50 * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms, slowest {max(seconds) * 1e3:.0f} ms")
    print(f"failed: {len(load.failures)} {load.failures[:3]}, wrong: {len(wrong)} {wrong[:3]}")
    if load.failures or wrong:
        sys.exit(1)


def main(argv: list[str]) -> None:
    logging.set_verbosity(logging.WARNING)
    if FLAGS.idle_server:
        response = predict_pb2.PredictResponse.FromString(sys.stdin.buffer.read())
        run_idle_server(FLAGS.idle_server, FLAGS.port, response)
        return
    with tempfile.TemporaryDirectory() as folder:
        if FLAGS.swap_requests:
            asyncio.run(swap(pathlib.Path(folder)))
            return
        base_path = FLAGS.model_base_path
        if not base_path:
            base_path = f"{folder}/{MODEL}"
            make_model(seed=0).export(pathlib.Path(base_path), version=1)
        asyncio.run(beside_large(base_path) if FLAGS.large_symbols else compare(base_path))


if __name__ == "__main__":
    app.run(main)
