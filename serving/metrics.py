"""What the server counts, under the names of TensorFlow Serving's Prometheus metrics."""

import functools

import grpc
import prometheus_client

_REQUEST_COUNT = ":tensorflow:serving:request_count"
_REQUEST_LATENCY = ":tensorflow:serving:request_latency"
# Microseconds: 10 * 1.8^i, about 20 minutes at the end.
_LATENCY_BUCKETS = [10 * 1.8**exponent for exponent in range(33)]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts and times requests by model; one registry for each server."""

    def __init__(self):
        self._registry = prometheus_client.CollectorRegistry()
        self._counts = prometheus_client.Counter(
            _REQUEST_COUNT,
            "The total number of requests.",
            ["model_name", "status"],
            registry=self._registry,
        )
        self._latencies = prometheus_client.Histogram(
            _REQUEST_LATENCY,
            "Distribution of wall time (in microseconds) for Tensorflow Serving request.",
            ["model_name", "API", "entrypoint"],
            buckets=_LATENCY_BUCKETS,
            registry=self._registry,
        )
        # Looking a child up by its labels costs several times what counting does.
        self._count = functools.cache(self._counts.labels)
        self._latency = functools.cache(self._latencies.labels)

    def record(
        self,
        model_name: str,
        api: str,
        entrypoint: str,
        code: grpc.StatusCode,
        microseconds: float,
    ) -> None:
        """Adds one request; `model_name` must be a served one, or the page would grow for ever."""
        self._count(model_name, code.name).inc()
        self._latency(model_name, api, entrypoint).observe(microseconds)

    def page(self) -> bytes:
        """Returns the text that Prometheus scrapes."""
        # The client library insists on the ending `_total`, which TensorFlow Serving does not have.
        lines = prometheus_client.generate_latest(self._registry).decode().splitlines()
        lines = [line for line in lines if "_created" not in line.split("{")[0]]
        return "".join(
            line.replace(f"{_REQUEST_COUNT}_total", _REQUEST_COUNT) + "\n" for line in lines
        ).encode()
