"""Which versions of which models are served: folders, policies, labels, loading and hot swap."""

import contextlib
import dataclasses
import gc
import logging
import pathlib
import threading
import time
from collections.abc import Callable, Iterator

import grpc
from tensorflow_serving.apis import get_model_status_pb2, model_pb2
from tensorflow_serving.config import model_server_config_pb2

from keras_stackrnn.serving import status, version_folders
from keras_stackrnn.serving.printable import printable
from keras_stackrnn.serving.saved_model import SavedModel

State = get_model_status_pb2.ModelVersionStatus
ModelConfig = model_server_config_pb2.ModelConfig

logger = logging.getLogger(__name__)


@dataclasses.dataclass(eq=False)
class Servable:
    """One version of one model, from the moment it is wanted until it is gone."""

    name: str
    version: int
    path: pathlib.Path
    state: int = State.START
    error: status.ServingError | None = None
    model: SavedModel | None = None
    leases: int = 0
    failures: int = 0
    retry_at: float = 0.0


@dataclasses.dataclass(frozen=True)
class Options:
    """How versions are looked for and loaded; the names are those of the server's flags."""

    file_system_poll_wait_seconds: float = 1.0
    allow_version_labels_for_unavailable_models: bool = False
    max_num_load_retries: int = 5
    load_retry_interval_seconds: float = 60.0


class ModelManager:
    """Keeps the configured versions loaded and hands them to requests.

    A new version is loaded and warmed up before the old one goes, and an old one is closed only
    when its last request is done, so a swap never fails a request.

    Args:
        options: see `Options`.
        load: makes a ready `SavedModel` of a version's folder; warm-up included.
    """

    def __init__(self, options: Options, load: Callable[[pathlib.Path], SavedModel]):
        self._options = options
        self._load = load
        self._configs: dict[str, ModelConfig] = {}
        self._labels: dict[str, dict[str, int]] = {}
        self._servables: dict[str, dict[int, Servable]] = {}
        self._lock = threading.Lock()
        self._released = threading.Condition(self._lock)
        # Held while folders are compared and models loaded; never while a request is answered.
        self._reconciling = threading.Lock()
        self._stopping = threading.Event()
        self._poller: threading.Thread | None = None
        self._unloaders: list[threading.Thread] = []
        self._said: dict[str, str] = {}  # what was last said of a model's base path

    def start_polling(self) -> None:
        """Looks for new versions every `file_system_poll_wait_seconds`, until `close`."""
        if self._options.file_system_poll_wait_seconds > 0:
            self._poller = threading.Thread(target=self._poll, name="version-poller", daemon=True)
            self._poller.start()

    def reload(self, server_config: model_server_config_pb2.ModelServerConfig) -> None:
        """Replaces the set of served models and waits until each of them is available.

        A refused configuration changes nothing.

        Args:
            server_config: the new set.

        Raises:
            ServingError: the configuration is not acceptable, or a model did not load.
        """
        with self._reconciling:
            configs = self._checked_configs(server_config)
            labels = {name: dict(config.version_labels) for name, config in configs.items()}
            self._check_labels(configs, labels)
            self._configs = configs
            self._reconcile()
            with self._lock:
                self._labels = labels
            self._check_available()

    @contextlib.contextmanager
    def lease(self, spec: model_pb2.ModelSpec) -> Iterator[Servable]:
        """Holds the version that `spec` asks for; it stays loaded inside the `with` block."""
        with self._lock:
            servable = self._find(spec)
            servable.leases += 1
        try:
            yield servable
        finally:
            with self._lock:
                servable.leases -= 1
                if not servable.leases and servable.state == State.UNLOADING:
                    self._released.notify_all()

    def is_configured(self, name: str) -> bool:
        return name in self._configs

    def names(self) -> tuple[str, ...]:
        """The names of the configured models."""
        return tuple(self._configs)

    def all_available(self) -> bool:
        """Whether every configured model has a version that can be asked."""
        with self._lock:
            return all(self._available(name) for name in self._configs)

    def status(self, spec: model_pb2.ModelSpec) -> get_model_status_pb2.GetModelStatusResponse:
        """Answers GetModelStatus: one version when `spec` names one, all of them otherwise."""
        response = get_model_status_pb2.GetModelStatusResponse()
        with self._lock:
            versions = self._servables.get(spec.name, {})
            if spec.WhichOneof("version_choice") and not self._means_latest(spec, versions):
                version = self._version(spec)
                if version not in versions:
                    raise status.not_found(f"Could not find version {version} of model {spec.name}")
                versions = {version: versions[version]}
            if not versions:
                raise status.not_found(f"Could not find any versions of model {spec.name}")
            for version, servable in sorted(versions.items(), reverse=True):
                entry = response.model_version_status.add(version=version, state=servable.state)
                entry.status.SetInParent()
                if servable.error:
                    entry.status.error_code = servable.error.code.value[0]
                    entry.status.error_message = servable.error.message
        return response

    def close(self) -> None:
        """Stops looking for versions and closes every model, breaking off what still runs."""
        self._stopping.set()
        if self._poller:
            self._poller.join()
        with self._reconciling:
            self._configs = {}
            with self._lock:
                for servable in self._all_servables():
                    if servable.leases:
                        servable.model.close()
            self._reconcile()
            for unloader in self._unloaders:
                unloader.join()

    def _poll(self) -> None:
        while not self._stopping.wait(self._options.file_system_poll_wait_seconds):
            try:
                with self._reconciling:
                    self._reconcile()
            except Exception:
                logger.exception("Looking for new versions failed; trying again.")

    def _find(self, spec: model_pb2.ModelSpec) -> Servable:
        if not spec.name:
            raise status.invalid_argument("ModelSpec has no name specified.")
        available = self._available(spec.name)
        if spec.WhichOneof("version_choice") and not self._means_latest(spec, available):
            version = self._version(spec)
            servable = self._servables.get(spec.name, {}).get(version)
            if servable is None or servable.state != State.AVAILABLE:
                raise status.not_found(
                    f"Servable not found for request: Specific({spec.name}, {version})"
                )
            return servable
        if not available:
            raise status.not_found(f"Servable not found for request: Latest({spec.name})")
        return available[max(available)]

    def _version(self, spec: model_pb2.ModelSpec) -> int:
        if spec.WhichOneof("version_choice") == "version":
            return spec.version.value
        version = self._labels.get(spec.name, {}).get(spec.version_label)
        if version is None:
            raise status.invalid_argument(
                f"Unrecognized servable version label: {spec.version_label}"
            )
        return version

    def _means_latest(self, spec: model_pb2.ModelSpec, versions: dict[int, Servable]) -> bool:
        """Clients of the OpenVINO family send version 0 to ask for the latest."""
        is_zero = spec.WhichOneof("version_choice") == "version" and spec.version.value == 0
        return is_zero and bool(versions) and 0 not in versions

    def _available(self, name: str) -> dict[int, Servable]:
        return {
            version: servable
            for version, servable in self._servables.get(name, {}).items()
            if servable.state == State.AVAILABLE
        }

    def _all_servables(self) -> Iterator[Servable]:
        for versions in self._servables.values():
            yield from versions.values()

    def _reconcile(self) -> None:
        """Loads what the configuration wants and is on disk, then unloads what it does not."""
        for name in {*self._configs, *self._servables}:
            config = self._configs.get(name)
            wanted = self._listed(config) if config else {}
            if wanted is None:
                continue
            for version, path in sorted(wanted.items()):
                self._load_if_due(name, version, path)
            with self._lock:
                available = self._available(name)
                replaced = not wanted or not available.keys().isdisjoint(wanted)
                leaving = [available[v] for v in available.keys() - wanted if replaced]
                for servable in leaving:
                    servable.state = State.UNLOADING
                self._forget_failures(name, wanted)
            for servable in leaving:
                self._unload_in_background(servable)

    def _listed(self, config: ModelConfig) -> dict[int, pathlib.Path] | None:
        """Returns the versions that are wanted; None when that is no reason to let any go.

        A folder that cannot be read, or in which no version is left, is one that is being moved or
        has lost its disk. Who wants a model to go takes it out of the configuration.
        """
        try:
            listing = version_folders.listed(config.base_path)
        except OSError as error:
            self._say_once(config, f"cannot be listed ({error.strerror})")
            return None
        if not listing.versions:
            self._say_once(config, "holds no version")
            return None
        self._say_once(config, listing.doubles)
        return version_folders.chosen(listing.versions, config.model_version_policy)

    def _say_once(self, config: ModelConfig, what: str) -> None:
        if what and self._said.get(config.name) != what:
            logger.warning(
                "The base path %s of model %s %s; what is served stays",
                printable(config.base_path),
                printable(config.name),
                what,
            )
        self._said[config.name] = what

    def _load_if_due(self, name: str, version: int, path: pathlib.Path) -> None:
        servable = self._servables.get(name, {}).get(version)
        failures = 0
        if servable is not None:
            if servable.state != State.END:
                return
            if servable.error:
                failures = servable.failures
                too_many = failures > self._options.max_num_load_retries
                if too_many or time.monotonic() < servable.retry_at:
                    return
        servable = Servable(name, version, path, State.LOADING, failures=failures)
        with self._lock:
            self._servables.setdefault(name, {})[version] = servable
        started = time.monotonic()
        try:
            model = self._load(path)
        except Exception as error:
            with self._lock:
                servable.error = status.as_serving_error(error)
                servable.failures += 1
                servable.retry_at = time.monotonic() + self._options.load_retry_interval_seconds
                servable.state = State.END
            logger.error(
                "Loading {name: %s version: %d} failed: %s",
                printable(name),
                version,
                printable(str(error)),
            )
            return
        with self._lock:
            servable.model = model
            servable.state = State.AVAILABLE
        logger.info(
            "Loaded {name: %s version: %d} in %.1f s",
            printable(name),
            version,
            time.monotonic() - started,
        )

    def _unload_in_background(self, servable: Servable) -> None:
        """A slow request on the old version must not hold up the next swap."""
        unloader = threading.Thread(target=self._unload, args=[servable], name="unloader")
        unloader.start()
        self._unloaders = [*(thread for thread in self._unloaders if thread.is_alive()), unloader]

    def _unload(self, servable: Servable) -> None:
        with self._lock:
            self._released.wait_for(lambda: not servable.leases)
            model, servable.model = servable.model, None
        model.close()
        # Its graph is full of circles, which Python itself looks for too seldom.
        del model
        gc.collect()
        with self._lock:
            servable.state = State.END
        logger.info("Unloaded {name: %s version: %d}", printable(servable.name), servable.version)

    def _forget_failures(self, name: str, wanted: dict[int, pathlib.Path]) -> None:
        """A version that failed and was taken away gets a fresh start when it comes back."""
        for version, servable in list(self._servables.get(name, {}).items()):
            if servable.error and version not in wanted:
                del self._servables[name][version]

    def _checked_configs(self, server_config) -> dict[str, ModelConfig]:
        if server_config.WhichOneof("config") != "model_config_list":
            raise status.invalid_argument(
                "ServerModelConfig type not supported by HandleReloadConfigRequest. "
                "Only ModelConfigList is currently supported"
            )
        configs = {}
        for config in server_config.model_config_list.config:
            if not config.name:
                raise status.invalid_argument("A model in the config list has no name.")
            if config.name in configs:
                raise status.invalid_argument(
                    f"Illegal to list model {config.name} multiple times in config list"
                )
            if config.model_platform not in ("", "tensorflow"):
                raise status.invalid_argument(
                    f"Model {config.name} is of platform {config.model_platform!r}; "
                    "only 'tensorflow' is served."
                )
            if not pathlib.Path(config.base_path).is_dir():
                raise status.not_found(
                    f"Could not find base path {config.base_path} for servable {config.name}"
                )
            configs[config.name] = config
        return configs

    def _check_labels(self, configs, labels) -> None:
        if self._options.allow_version_labels_for_unavailable_models:
            return
        for name, versions in labels.items():
            reachable = {*self._available(name), *version_folders.wanted(configs[name])}
            for version in versions.values():
                if version not in reachable:
                    raise status.failed_precondition(
                        f"Request to assign label to version {version} of model {name}, "
                        "which is not currently available for inference"
                    )

    def _check_available(self) -> None:
        failures = [
            f"{{{{name: {servable.name} version: {servable.version}}} "
            f"due to error: {servable.error.message}}}"
            for name in self._configs
            for servable in self._servables.get(name, {}).values()
            if servable.error
        ]
        if failures:
            raise status.ServingError(
                grpc.StatusCode.UNKNOWN,
                f"{len(failures)} servable(s) did not become available: {', '.join(failures)}",
            )
