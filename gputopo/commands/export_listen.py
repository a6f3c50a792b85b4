"""`gputopo export --to prometheus --listen HOST:PORT`: /metrics of this node, read again when it is asked for.

A scrape never waits for a driver that hangs: what is older than the interval is read again beside it, and after
`PATIENCE` the scrape gets what was known. How old that is, and whether reading failed, are metrics of their own.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gputopo.commands import output
from gputopo.errors import GputopoError
from gputopo.reports.prometheus import Metric, Sample

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

PATIENCE = 3.0  # s; Prometheus gives up after 10 unless it is told otherwise
Read = Callable[[], Sequence[Metric]]


def serve(read: Read, listen: str, interval: float, quiet: bool) -> int:
    """Until SIGINT or SIGTERM. Raises GputopoError: no prometheus_client, no such address, a node that cannot be
    read the first time."""
    host, port = address(listen)
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError:
        hint = "pip install 'gputopo[prometheus]'; or --output-file for node_exporter's textfile collector"
        raise GputopoError("--listen needs prometheus_client", "", hint, 3) from None
    readings = Readings(read, interval)
    registry = CollectorRegistry()
    registry.register(Collector(readings))
    try:
        server, _ = start_http_server(port, host, registry)
    except (OSError, OverflowError) as error:
        what = (getattr(error, "strerror", "") or str(error)).lower()
        raise GputopoError(f"cannot listen: {what}", listen) from None
    if not quiet:
        output.say(f"serving http://{listen}/metrics, read at most every {interval:g} s")
    _until_ended()
    server.shutdown()
    return 0


def address(listen: str) -> tuple[str, int]:
    """
    >>> address("127.0.0.1:9836"), address("[::]:9836")
    (('127.0.0.1', 9836), ('::', 9836))
    >>> address(":9836")
    Traceback (most recent call last):
    gputopo.errors.GputopoError: --listen takes HOST:PORT, not ':9836'
    hint: 127.0.0.1:9836, or 0.0.0.0:9836 for who may come from elsewhere
    """
    host, _, port = listen.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    if not host or not (port.isascii() and port.isdigit() and 1 <= int(port[:6]) <= 65535):
        hint = "127.0.0.1:9836, or 0.0.0.0:9836 for who may come from elsewhere"
        raise GputopoError(f"--listen takes HOST:PORT, not {listen!r}", "", hint)
    return host, int(port)


class Readings:
    """The last metrics that could be read, and when. One reading at a time, however many ask."""

    def __init__(self, read: Read, interval: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._read, self._interval, self._clock = read, interval, clock
        self._lock = threading.Lock()
        self._metrics = tuple(read())  # the first time an error is an error
        self._at, self._wall, self._good = clock(), time.time(), True
        self._reader: threading.Thread | None = None

    def now(self, patience: float = PATIENCE) -> tuple[Metric, ...]:
        """What is known, at most `interval` old if reading is done within `patience` seconds."""
        with self._lock:
            if self._reader is None and self._clock() - self._at >= self._interval:
                self._reader = threading.Thread(target=self._again, daemon=True)
                self._reader.start()
            reader = self._reader
        if reader is not None:
            reader.join(patience)
        with self._lock:
            return (
                *self._metrics,
                Metric("gputopo_read_success", "1 where the last reading of the node went well.",
                       (Sample({}, self._good),)),
                Metric("gputopo_last_read_timestamp_seconds", "When the node was read that these metrics are of.",
                       (Sample({}, self._wall),)),
            )  # fmt: skip

    def _again(self) -> None:
        try:
            made = tuple(self._read())
        except Exception as error:  # whatever it is: a server that ended would say nothing of any kind
            output.say(f"the node cannot be read: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
            made = None
        with self._lock:
            self._good = made is not None
            if made is not None:
                self._metrics, self._wall = made, time.time()
            self._at, self._reader = self._clock(), None


class Collector:
    """Ours in prometheus_client's form."""

    def __init__(self, readings: Readings) -> None:
        self._readings = readings

    def collect(self) -> Iterator[GaugeMetricFamily]:
        from prometheus_client.core import GaugeMetricFamily

        for metric in self._readings.now():
            if not metric.samples:
                continue
            family = GaugeMetricFamily(metric.name, metric.help, labels=tuple(metric.samples[0].labels))
            for sample in metric.samples:
                family.add_metric(tuple(sample.labels.values()), sample.value)
            yield family

    def describe(self) -> tuple[()]:
        """So that registering asks nothing."""
        return ()


def _until_ended() -> None:
    ended = threading.Event()

    def end(*_: Any) -> None:
        ended.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        ended.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
