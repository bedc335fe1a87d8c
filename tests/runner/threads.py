"""A crew whose workers are threads of the test's own process."""

import collections

from jfed.runner.executors.backlog import Gone
from jfed.runner.executors.crew import Crew
from jfed.runner.executors.station import Station


class Here:
    """A worker in this process, which dies when it is told to."""

    def __init__(self, given, tasks, deaths):
        self.station, self.tasks, self.deaths, self.ended = Station(given), tasks, deaths, False

    def hello(self):
        return self.station.hello()

    def work(self, task):
        self.tasks.append((self, task))
        for number, message in enumerate(self.station.work(task)):
            if self.deaths and number == self.deaths[0]:
                self.deaths.popleft()
                self.station.stop(task.mark)
                self.station.idle.wait()
                raise Gone("was ended by the test")
            yield message

    def stop(self, mark):
        self.station.stop(mark)

    def end(self):
        self.ended = True


class Threads(Crew):
    """Workers in this process; `deaths` are numbers of messages after which the next workers die."""

    def __init__(self, size=2, deaths=(), unlike=None):
        super().__init__(size)
        self.tasks, self.deaths, self.begun, self.unlike = [], collections.deque(deaths), [], unlike

    def _start(self, number, given):
        worker = Here(given, self.tasks, self.deaths)
        if number and self.unlike:
            hello = worker.hello()
            worker.hello = lambda: self.unlike(hello)
        self.begun.append(worker)
        return worker
