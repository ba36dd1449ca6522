"""The embedded server: any SavedModel, over the protocols and flags of TensorFlow Serving.

python -m keras_stackrnn.serving.server --model_name=anbn --model_base_path=/models/anbn
python -m keras_stackrnn.serving.server --model_config_file=models.config --rest_api_port=8501
"""

import asyncio
import dataclasses
import functools
import gc
import logging
import math
import os
import pathlib
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor

import grpc
import tensorflow as tf
from absl import app, flags
from absl import logging as absl_logging
from grpc_health.v1 import health

from keras_stackrnn import command_line
from keras_stackrnn.serving import (
    config,
    file_operations,
    grpc_services,
    lanes,
    memory,
    models,
    status,
    tls,
    warmup,
)
from keras_stackrnn.serving.batching import BatchingOptions, DirectRunner
from keras_stackrnn.serving.later_methods import LaterMethods
from keras_stackrnn.serving.metrics import Metrics
from keras_stackrnn.serving.printable import printable
from keras_stackrnn.serving.reload_policy import ReloadPolicy
from keras_stackrnn.serving.rest import Endpoint, RestServer
from keras_stackrnn.serving.rest_access import Access, is_loopback
from keras_stackrnn.serving.rest_connections import bound_sockets
from keras_stackrnn.serving.rest_generation import GenerationEndpoint
from keras_stackrnn.serving.rest_open_inference import OpenInferenceEndpoint
from keras_stackrnn.serving.saved_model import SavedModel
from keras_stackrnn.serving.service import Service
from keras_stackrnn.serving.sessions import SessionOptions
from keras_stackrnn.serving.stateful import StatefulPredict

try:
    from uvloop import new_event_loop
except ImportError:  # there is none for Windows
    from asyncio import new_event_loop

# What --help shows; --helpfull shows every flag.
HELP = {
    "Models": ("model_name", "model_base_path", "model_config_file"),
    "Addresses": ("host", "port", "rest_api_port", "grpc_socket_path"),
    "Throughput": ("enable_batching", "batching_parameters_file", "max_inflight_requests"),
    "Safety": ("ssl_config_file", "refuse_file_operations", "max_message_bytes"),
    "Operation": ("file_system_poll_wait_seconds", "monitoring_config_file", "drain_seconds"),
}

logger = logging.getLogger(__name__)

_HEALTH_SECONDS = 0.5
# How long a `with` block waits for requests under way when it ends.
_GRACE_SECONDS = 5.0


@dataclasses.dataclass(frozen=True)
class ServerOptions:
    """What to serve, and where; a port of 0 means any free one, None means not at all."""

    models: config.ModelServerConfig
    host: str = "127.0.0.1"
    port: int | None = 8500
    rest_api_port: int | None = None
    grpc_socket_path: str = ""
    versions: models.Options = dataclasses.field(default_factory=models.Options)
    batching: BatchingOptions | None = None
    sessions: SessionOptions = dataclasses.field(default_factory=SessionOptions)
    ssl: config.SSLConfig | None = None
    prometheus_path: str | None = None
    health_service: bool = False
    rest_api_timeout_seconds: float = 30.0
    read_seconds: float = 30.0
    rest_ssl: config.SSLConfig | None = None
    rest_access: Access = dataclasses.field(default_factory=Access)
    allow_reload: bool | None = None
    reload_base_paths: tuple[str, ...] = ()
    refuse_file_operations: bool = False
    max_message_bytes: int = 64 * 2**20
    max_inflight_requests: int = 1000
    max_simultaneous_runs: int = 16
    tensorflow_inter_op_parallelism: int = 0
    tensorflow_intra_op_parallelism: int = 0
    # What REST answers besides: each is made with the service and the timeout.
    endpoints: tuple[Callable[[Service, float], Endpoint], ...] = ()
    # What makes a model of a version's folder; None: it holds a SavedModel, which is warmed up.
    load: Callable[[pathlib.Path], SavedModel] | None = None


@functools.cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """Returns the loop of all REST servers in this process, on a thread of its own."""
    loop = new_event_loop()
    threading.Thread(target=loop.run_forever, name="event-loop", daemon=True).start()
    return loop


class ModelServer:
    """A server in this process; it answers on a thread of its own.

    Args:
        options: see `ServerOptions`.

    Example:

    >>> with ModelServer(ServerOptions(config.single_model("anbn", "models/anbn"))) as server:
    ...     client = Client(f"127.0.0.1:{server.port}", "anbn")
    """

    def __init__(self, options: ServerOptions):
        self._options = options
        self.models = models.ModelManager(options.versions, options.load or self.load)
        if options.batching:
            self._runner = lanes.LanedRunner(options.batching)
        else:
            self._runner = DirectRunner(options.max_simultaneous_runs)
        self.service = Service(
            self.models,
            self._runner,
            StatefulPredict(self.models, self._runner, options.max_message_bytes, options.sessions),
            Metrics(),
            options.max_inflight_requests,
            options.max_message_bytes,
            _reload_policy(options),
        )
        self.port: int | None = None
        self.rest_api_port: int | None = None
        self._grpc_server: grpc.Server | None = None
        self._inference: LaterMethods | None = None
        self._rest_server: RestServer | None = None
        self._rest_sockets: list[socket.socket] = []
        self._health: health.HealthServicer | None = None
        self._stopping = threading.Event()

    def start(self) -> None:
        """Takes the ports, loads the models, then answers: who gets an answer can be served."""
        self._bind()
        self.models.reload(self._options.models)
        self.models.start_polling()
        self._answer()

    def stop(self, grace_seconds: float, linger_seconds: float = 0.0) -> None:
        """Takes no new requests, lets those under way finish, and unloads the models.

        Args:
            grace_seconds: requests that take longer are broken off.
            linger_seconds: for so long new requests still are answered, while clients and those
                that look after the server's health hear that it is about to go.
        """
        self._stopping.set()
        if self._health:
            self._health.enter_graceful_shutdown()  # for good, whatever the updates say meanwhile
        if self._rest_server:
            self._on_loop(self._rest_server.drain())
        time.sleep(linger_seconds)
        self._drain(grace_seconds)
        self.service.stateful.close()
        for each in self._rest_sockets:
            each.close()
        self.models.close()
        self._runner.close()
        if self._inference:
            self._inference.close()

    def __enter__(self) -> "ModelServer":
        try:
            self.start()
        except BaseException:
            self.stop(grace_seconds=0)
            raise
        return self

    def __exit__(self, *error) -> None:
        self.stop(_GRACE_SECONDS)

    def _on_loop(self, coroutine: Coroutine) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, _event_loop()).result()

    def load(self, path: pathlib.Path) -> SavedModel:
        """The SavedModel in a folder, warmed up."""
        self._check_file_operations(path)
        model = SavedModel(path, _session_config(self._options))
        try:
            warmup.warm_up(model, self._options.max_message_bytes)
        except BaseException:
            model.close()
            raise
        return model

    def _check_file_operations(self, path: pathlib.Path) -> None:
        operations = file_operations.file_operations(path)
        if not operations:
            return
        names = ", ".join(map(printable, operations))
        if self._options.refuse_file_operations:
            raise status.failed_precondition(
                f"The SavedModel has operations that touch files, which are refused: {names}"
            )
        logger.warning(
            "The SavedModel in %s has operations that touch files: %s", printable(str(path)), names
        )

    def _drain(self, grace_seconds: float) -> None:
        if self._grpc_server:
            grpc_stopped = self._grpc_server.stop(grace_seconds)
        if self._rest_server:
            self._on_loop(self._rest_server.stop(grace_seconds))
        if self._grpc_server:
            grpc_stopped.wait()

    def _bind(self) -> None:
        options = self._options
        # The threads are for what runs no graph; there are only as many as were needed at a time.
        server = grpc.server(
            ThreadPoolExecutor(options.max_inflight_requests, "grpc"),
            options=[
                ("grpc.max_receive_message_length", options.max_message_bytes),
                ("grpc.max_send_message_length", -1),
                # Otherwise a second server on the same port would silently take half the requests.
                ("grpc.so_reuseport", 0),
                ("grpc.server_handshake_timeout_ms", math.ceil(options.read_seconds * 1000)),
            ],
        )
        self._inference = grpc_services.add_services(server, self.service, options.read_seconds)
        self._grpc_server = server
        if options.port is not None:
            address = f"{options.host}:{options.port}"
            try:
                if options.ssl:
                    credentials = tls.grpc_credentials(options.ssl)
                    self.port = server.add_secure_port(address, credentials)
                else:
                    self.port = server.add_insecure_port(address)
            except RuntimeError as error:
                suspects = "port taken, or a certificate broken" if options.ssl else "port taken"
                raise ValueError(f"Cannot listen on {address}: is the {suspects}?") from error
        if options.grpc_socket_path:
            server.add_insecure_port(f"unix:{options.grpc_socket_path}")
        if options.rest_api_port is not None:
            self._rest_sockets = bound_sockets(options.host, options.rest_api_port)
            self.rest_api_port = self._rest_sockets[0].getsockname()[1]

    def _answer(self) -> None:
        options = self._options
        if options.health_service:
            self._health = grpc_services.add_health(self._grpc_server)
            grpc_services.set_health(self._health, self.models.all_available())
            threading.Thread(target=self._update_health, name="health", daemon=True).start()
        self._grpc_server.start()
        self._inference.start()
        if options.port is not None:
            logger.info("Running gRPC ModelServer at %s:%d ...", options.host, self.port)
        if options.grpc_socket_path:
            logger.info("Running gRPC ModelServer at UNIX socket %s ...", options.grpc_socket_path)
        if options.rest_api_port is not None:
            self._on_loop(self._start_rest())
            logger.info("Exporting HTTP/REST API at:%s:%d ...", options.host, self.rest_api_port)

    async def _start_rest(self) -> None:
        options = self._options
        self._rest_server = RestServer(
            self.service,
            dataclasses.replace(options.rest_access, host=options.host),
            options.rest_api_timeout_seconds,
            options.read_seconds,
            options.max_message_bytes,
            options.max_inflight_requests,
            options.prometheus_path,
            [
                endpoint(self.service, options.rest_api_timeout_seconds)
                for endpoint in (GenerationEndpoint, OpenInferenceEndpoint, *options.endpoints)
            ],
        )
        context = tls.http_context(options.rest_ssl) if options.rest_ssl else None
        await self._rest_server.start(self._rest_sockets, context)

    def _update_health(self) -> None:
        while not self._stopping.wait(_HEALTH_SECONDS):
            grpc_services.set_health(self._health, self.models.all_available())


def _session_config(options: ServerOptions) -> tf.compat.v1.ConfigProto:
    """Gives a model as many threads as batches of it run at a time.

    TensorFlow's own choice, one for each core, hands a graph's small operations, and halves of
    them, from thread to thread: on two cores that are busy with the network, too, that takes more
    time than it saves. The cores beside the network's are shared out among the batches.

    Graphs are rewritten once and not twice: a version put beside the last is loaded and warmed up
    while that one is asked, and most of this time is the rewriting of each signature's graph.
    """
    inter_op = options.tensorflow_inter_op_parallelism
    intra_op = options.tensorflow_intra_op_parallelism
    if options.batching:
        batches = options.batching.num_batch_threads
        inter_op = inter_op or batches
        intra_op = intra_op or max(1, ((os.cpu_count() or 1) - 1) // batches)
    session_config = tf.compat.v1.ConfigProto(
        inter_op_parallelism_threads=inter_op,
        intra_op_parallelism_threads=intra_op,
        use_per_session_threads=bool(inter_op),
    )
    if options.batching:
        lanes.give_threads(session_config, inter_op)
    rewriting = session_config.graph_options.rewrite_options
    rewriting.meta_optimizer_iterations = rewriting.ONE
    return session_config


def _reload_policy(options: ServerOptions) -> ReloadPolicy:
    allowed = options.allow_reload
    if allowed is None:
        allowed = options.port is None or is_loopback(options.host)
    return ReloadPolicy(allowed, options.reload_base_paths)


def watch_config_file(
    model_manager: models.ModelManager,
    path: str,
    wait_seconds: float,
    stopping: threading.Event,
) -> None:
    """Applies the model config file whenever its content changes, until `stopping` is set."""
    applied = config.read(path, config.ModelServerConfig)
    while not stopping.wait(wait_seconds):
        try:
            current = config.read(path, config.ModelServerConfig)
            if current != applied:
                model_manager.reload(current)
                applied = current
        except (ValueError, status.ServingError) as error:
            logger.error("The model config file was not applied: %s", error)


def define_flags(values: flags.FlagValues) -> None:
    """Adds the server's flags, most of them TensorFlow Serving's, to `values`."""
    text = functools.partial(flags.DEFINE_string, flag_values=values)
    switch = functools.partial(flags.DEFINE_boolean, flag_values=values)
    integer = functools.partial(flags.DEFINE_integer, flag_values=values)
    number = functools.partial(flags.DEFINE_float, flag_values=values)

    # What to serve.
    text("model_name", "default", "Name of the model under --model_base_path.")
    text("model_base_path", "", "Folder whose integer-named folders are versions.")
    text("model_config_file", "", "Text ModelServerConfig with several models.")
    number(
        "model_config_file_poll_wait_seconds", 0, "Apply changes of the file this often; 0: never."
    )
    number("file_system_poll_wait_seconds", 1, "Look for new versions this often; 0: only once.")
    switch(
        "allow_version_labels_for_unavailable_models", False, "Let labels name unloaded versions."
    )
    integer("max_num_load_retries", 5, "How often a version that failed is tried again.")
    integer("load_retry_interval_micros", 60_000_000, "How long to wait before that.")

    # Where to serve.
    text("host", "127.0.0.1", "Address to listen on; 0.0.0.0 opens it to the network.")
    integer("port", 8500, "Port for gRPC.")
    text("grpc_socket_path", "", "UNIX socket for gRPC, besides the port.")
    integer("rest_api_port", 0, "Port for REST; 0: none.")
    integer("rest_api_timeout_in_ms", 30_000, "Bound of a REST request.")
    text("ssl_config_file", "", "Text SSLConfig: TLS, and client certificates, on gRPC.")
    text("rest_api_ssl_config_file", "", "The same on REST; it may be the same file.")
    switch("allow_plain_rest_api", False, "REST without TLS beside client certificates on gRPC.")

    # Whom to serve.
    several = functools.partial(flags.DEFINE_list, flag_values=values)
    several("rest_api_allowed_hosts", [], "Names by which REST may be reached.")
    several("rest_api_allowed_origins", [], "Pages from elsewhere that may ask over REST.")
    switch("rest_api_require_json", False, "POST has to say that it is application/json.")
    switch("playground", False, "Serve the playground's page at / of the REST port.")
    switch("allow_reload", None, "Answer HandleReloadConfigRequest; by default on loopback alone.")
    several("reload_base_paths", [], "Folders in which models named by it have to lie.")
    switch("refuse_file_operations", False, "Load no SavedModel whose graph touches files.")

    # How to serve.
    switch("enable_batching", False, "Run concurrent requests together.")
    text("batching_parameters_file", "", "Text BatchingParameters.")
    integer("tensorflow_inter_op_parallelism", 0, "Operations at a time; 0: as fits the batches.")
    integer("tensorflow_intra_op_parallelism", 0, "Threads of an operation; 0: as fits.")
    text("monitoring_config_file", "", "Text MonitoringConfig: Prometheus on REST.")
    switch("enable_grpc_healthcheck_service", False, "Answer grpc.health.v1.Health.")
    integer("max_message_bytes", 64 * 2**20, "Largest request, and largest tensor in it.")
    integer("max_inflight_requests", 1000, "More requests than this are refused.")
    number("session_idle_seconds", 300, "End sessions that nobody used for so long; 0: never.")
    integer("max_sessions", 500, "More sessions at a time than this are refused.")
    integer("max_session_bytes", 2**30, "What the states of all sessions may take together.")
    number("read_seconds", 30, "How long a request's headers and body may take to come.")
    number("drain_seconds", 30, "How long SIGTERM waits for requests under way.")
    number("linger_seconds", 1, "How long, before that, new requests still are answered.")


def options_from_flags(values: flags.FlagValues) -> ServerOptions:
    """Turns the command line into options; a contradiction raises ValueError."""
    if bool(values.model_base_path) == bool(values.model_config_file):
        raise ValueError(
            "Give either --model_base_path or --model_config_file, "
            f"got {values.model_base_path!r} and {values.model_config_file!r}."
        )
    if values.model_config_file:
        model_config = config.read(values.model_config_file, config.ModelServerConfig)
    else:
        model_config = config.single_model(values.model_name, values.model_base_path)
    if values.batching_parameters_file and not values.enable_batching:
        raise ValueError("--batching_parameters_file is set without --enable_batching.")
    if values.monitoring_config_file and not values.rest_api_port:
        raise ValueError("--monitoring_config_file is set without --rest_api_port.")
    batching = None
    if values.enable_batching:
        batching = BatchingOptions()
    if values.batching_parameters_file:
        batching = BatchingOptions.from_proto(
            config.read(values.batching_parameters_file, config.BatchingParameters)
        )
    prometheus_path = None
    if values.monitoring_config_file:
        prometheus = config.read(
            values.monitoring_config_file, config.MonitoringConfig
        ).prometheus_config
        if prometheus.enable:
            prometheus_path = prometheus.path or config.PROMETHEUS_PATH
    ssl, rest_ssl = (
        config.read(path, config.SSLConfig) if path else None
        for path in (values.ssl_config_file, values.rest_api_ssl_config_file)
    )
    if rest_ssl and not values.rest_api_port:
        raise ValueError("--rest_api_ssl_config_file is set without --rest_api_port.")
    if values.playground and not values.rest_api_port:
        raise ValueError("--playground is a page of the REST port: add --rest_api_port.")
    is_rest_plain = values.rest_api_port and not rest_ssl
    if ssl and ssl.client_verify and is_rest_plain and not values.allow_plain_rest_api:
        raise ValueError(
            f"{values.ssl_config_file} asks clients for certificates, but anybody could ask over "
            f"REST on port {values.rest_api_port}: add --rest_api_ssl_config_file, or "
            "--allow_plain_rest_api if that is meant."
        )
    endpoints = ()
    if values.playground:
        from keras_stackrnn.playground.endpoint import PageEndpoint

        endpoints = (PageEndpoint,)
    return ServerOptions(
        models=model_config,
        host=values.host,
        port=values.port,
        rest_api_port=values.rest_api_port or None,
        grpc_socket_path=values.grpc_socket_path,
        versions=models.Options(
            file_system_poll_wait_seconds=values.file_system_poll_wait_seconds,
            allow_version_labels_for_unavailable_models=(
                values.allow_version_labels_for_unavailable_models
            ),
            max_num_load_retries=values.max_num_load_retries,
            load_retry_interval_seconds=values.load_retry_interval_micros / 1e6,
        ),
        batching=batching,
        sessions=SessionOptions(
            values.session_idle_seconds, values.max_sessions, values.max_session_bytes
        ),
        ssl=ssl,
        prometheus_path=prometheus_path,
        health_service=values.enable_grpc_healthcheck_service,
        rest_api_timeout_seconds=values.rest_api_timeout_in_ms / 1000,
        read_seconds=values.read_seconds,
        rest_ssl=rest_ssl,
        rest_access=Access(
            allowed_hosts=tuple(values.rest_api_allowed_hosts),
            allowed_origins=tuple(values.rest_api_allowed_origins),
            requires_json=values.rest_api_require_json or values.playground,
        ),
        allow_reload=values.allow_reload,
        reload_base_paths=tuple(values.reload_base_paths),
        refuse_file_operations=values.refuse_file_operations,
        max_message_bytes=values.max_message_bytes,
        max_inflight_requests=values.max_inflight_requests,
        tensorflow_inter_op_parallelism=values.tensorflow_inter_op_parallelism,
        tensorflow_intra_op_parallelism=values.tensorflow_intra_op_parallelism,
        endpoints=endpoints,
    )


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"Unexpected argument {argv[1]!r}: everything is a flag.")
    absl_logging.set_verbosity(absl_logging.INFO)
    logging.getLogger("tensorflow").setLevel(logging.WARNING)
    # TensorFlow brings hundreds of thousands of objects that need not be looked at ever again.
    gc.collect()
    gc.freeze()
    values = flags.FLAGS
    stopping, linger_seconds = threading.Event(), 0.0
    for signal_number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # What nohup has a process ignore, it goes on ignoring.
        if signal_number != signal.SIGHUP or signal.getsignal(signal_number) != signal.SIG_IGN:
            signal.signal(signal_number, lambda *_: stopping.set())
    memory.give_back(stopping)
    server = None
    try:
        server = ModelServer(options_from_flags(values))
        server.start()
        if values.model_config_file and values.model_config_file_poll_wait_seconds > 0:
            threading.Thread(
                target=watch_config_file,
                args=[
                    server.models,
                    values.model_config_file,
                    values.model_config_file_poll_wait_seconds,
                    stopping,
                ],
                daemon=True,
            ).start()
        stopping.wait()
        logger.info("Stopping: %g s for requests under way.", values.drain_seconds)
        linger_seconds = values.linger_seconds
    except (ValueError, status.ServingError) as error:
        sys.exit(f"Failed to start server. Error: {error}")
    finally:
        if server:
            server.stop(values.drain_seconds, linger_seconds)


if __name__ == "__main__":
    command_line.run(sys.modules[__name__])
