"""Workers that are actors of Ray, on one machine or a cluster: each has some cores, or GPUs of its own."""

import contextlib
import importlib
import logging
import os
from collections.abc import Iterator, Mapping
from typing import Any

from jfed.core.errors import ConfigError, extra, require, shown
from jfed.runner.executors.crew import Crew, Gone
from jfed.runner.executors.station import Failed, Hello, Message, Setup, Station, Task

WAITING_S = 60.0  # for a worker to start, until a line says what is waited for

log = logging.getLogger("jfed")


def _ray() -> Any:
    """Return the package, which may not be installed: types are checked without it, too."""
    importlib.import_module("ray.exceptions")
    return importlib.import_module("ray")


class Ray(Crew):
    """Workers on a Ray cluster: `jfed.run(points, seeds, executor=jfed.Ray(gpus=1))`.

    The driver needs the data sets, as its workers do. Results come to the driver, which writes them; checkpoints are
    written by workers that see the directory of results, as on a shared file system. A worker that dies, or whose node
    leaves, is replaced when the cluster has room. If Ray has been initialised, that cluster is used and stays.
    """

    def __init__(
        self, address: str | None = None, workers: int | None = None, cpus: int = 1, gpus: int = 0,
        runtime_env: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Take the cluster and the number of workers.

        Args:
            address: address of the cluster that this machine belongs to, such as "auto"; None starts Ray on this
                machine, unless $RAY_ADDRESS names a cluster.
            workers: number of workers; None means as many as the cluster has room for, if nothing else uses it.
            cpus: cores of a worker, which are its devices if it has no GPU.
            gpus: GPUs of a worker.
            runtime_env: what Ray prepares on the workers' machines, such as {"env_vars": {"JFED_DATA_DIR": "/data"}}.

        Raises:
            ConfigError: a number is impossible, or Ray is not installed.
        """
        client = address is not None and address.startswith("ray://")
        require(not client, "jfed.Ray runs on a machine of the cluster, not through ray://: see `ray job submit`.")
        many = 1 if workers is None else workers
        for name, number, least in (("workers", many, 1), ("cpus", cpus, 1), ("gpus", gpus, 0)):
            whole = isinstance(number, int) and not isinstance(number, bool)
            require(whole and number >= least, f"{name} must be a whole number from {least} on, found {shown(number)}.")
        with extra("ray"):
            _ray()
        super().__init__(workers)
        self._address, self._room = address, {"CPU": cpus} | ({"GPU": gpus} if gpus else {})
        self._environment, self._began = dict(runtime_env or {}), False

    def _open(self) -> None:
        ray = _ray()
        if not ray.is_initialized():
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # unless the user wants to send statistics
            os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # what Ray will do by default
            where = self._address or os.environ.get("RAY_ADDRESS") or "local"  # not a cluster that was here once
            try:
                own: dict[str, Any] = {"include_dashboard": False} if where == "local" else {}
                ray.init(where, logging_level=logging.ERROR, log_to_driver=False, **own)
            except (ray.exceptions.RayError, ConnectionError, ValueError, RuntimeError, OSError) as error:
                told = str(error).strip().partition("\n")[0].rstrip(".")
                raise ConfigError(f"Ray at {where} cannot be used: {told}.") from error
            self._began = True
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        most = sum(min(int(have.get(name, 0) // wanted) for name, wanted in self._room.items()) for have in nodes)
        wanted = ", ".join(f"{number} {name}" for name, number in self._room.items())
        require(most >= 1, f"The Ray cluster has no room for a worker with {wanted}.")
        require(self._size <= most, f"The Ray cluster has room for {most} workers with {wanted}, not for {self._size}.")
        self._size = self._size or most
        self._sharing = -(-self._size // len(nodes))

    def _close(self) -> None:
        ray = _ray()
        if self._began:
            ray.shutdown()
            self._began = False

    def _start(self, number: int, given: Setup) -> "_Actor":
        devices = None if "GPU" in self._room else self._room["CPU"]
        return _Actor(given._replace(devices=devices, sharing=self._sharing), self._room, self._environment)


class _Seat:
    """The actor: a station in a process of Ray."""

    def __init__(self) -> None:
        self._station: Station | None = None

    def hello(self, setup: Setup) -> Hello | Failed:
        """Set the station up, and return what it is."""
        try:
            self._station = Station(setup)
        except ConfigError as error:
            return Failed(error)
        return self._station.hello()

    def work(self, task: Task) -> Iterator[Message]:
        """Yield the messages of a task."""
        assert self._station is not None
        yield from self._station.work(task)

    def stop(self, mark: str) -> None:
        """End a task of this mark."""
        assert self._station is not None
        self._station.stop(mark)


class _Actor:
    """A worker as an actor; see `Worker`."""

    def __init__(self, setup: Setup, room: Mapping[str, int], environment: Mapping[str, Any]) -> None:
        ray = _ray()
        self._setup = setup
        self._seat: Any = (
            ray.remote(_Seat)
            .options(
                num_cpus=room["CPU"], num_gpus=room.get("GPU", 0), max_concurrency=2, max_restarts=0,
                runtime_env=dict(environment) or None,
            )
            .remote()
        )  # fmt: skip

    def hello(self) -> Hello:
        """Return what it is; see `Worker`."""
        ray = _ray()
        asked = self._seat.hello.remote(self._setup)
        if not ray.wait([asked], timeout=WAITING_S)[0]:
            log.warning("Waiting for room on the Ray cluster.")
        found = self._get(asked)
        if isinstance(found, Failed):
            raise found.error
        return found

    def work(self, task: Task) -> Iterator[Message]:
        """Yield the messages of a task; see `Worker`."""
        ray = _ray()
        try:
            for message in self._seat.work.options(num_returns="streaming").remote(task):
                yield self._get(message)
        except ray.exceptions.RayError as error:
            raise _gone(error) from None

    def stop(self, mark: str) -> None:
        """Ask it to end a task; see `Worker`."""
        self._seat.stop.remote(mark)

    def end(self) -> None:
        """End it; see `Worker`."""
        ray = _ray()
        with contextlib.suppress(Exception):  # it may be dead, or the cluster
            ray.kill(self._seat)

    def _get(self, what: Any) -> Any:
        ray = _ray()
        try:
            return ray.get(what)
        except ray.exceptions.RayTaskError as error:
            raise ConfigError(f"A worker failed: {error.cause}") from error
        except ray.exceptions.RayError as error:
            raise _gone(error) from None


def _gone(error: Exception) -> Gone:
    """Return the end of an actor in words."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = next((line for line in lines if "died because" in line or "memory" in line), lines[0] if lines else "")
    return Gone(told.partition(" Some common causes")[0].rstrip(".") or type(error).__name__)
