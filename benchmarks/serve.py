"""Answer requests for functions of this package, {"call": "module.function", ...}: jfed's side, as a worker.

jax finds one CPU device for each core that the process may use; see `jfed.runner.host`.
"""

import importlib
import json
import sys


def main() -> None:
    """Answer requests from standard input."""
    from jfed.runner import host

    host.setup()
    for line in sys.stdin:
        request = json.loads(line)
        module, _, name = request.pop("call").rpartition(".")
        function = getattr(importlib.import_module(f"benchmarks.{module}"), name)
        print(json.dumps(function(**request)), flush=True)


if __name__ == "__main__":
    main()
