"""The end of a command that cannot go on: one sentence in place of a traceback."""

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from jfed.core.errors import ConfigError, Unfinished
from jfed.results.names import plain

PACKAGE = Path(__file__).parents[1]


@contextlib.contextmanager
def until_closed() -> Iterator[None]:
    """End the process without a word if nobody reads its output any more, as after `| head`."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left goes nowhere when Python ends
        sys.exit(1)


@contextlib.contextmanager
def in_words(files: Sequence[Path] = ()) -> Iterator[None]:
    """Load members from files, and end the process with a sentence if the user, or one of these members, is at fault.

    With $JFED_TRACEBACK, an error of a member keeps its traceback. Other errors are those of jfed and keep theirs.

    Args:
        files: Python files that define members; without any, the catalogue, which needs jax, is not imported.
    """
    try:
        if files:
            from jfed.catalog import load_file

            for path in files:
                load_file(path)
        yield
    except (ConfigError, FileNotFoundError) as error:
        sys.exit(f"error: {plain(str(error))}")
    except Unfinished as error:
        sys.exit(str(error))
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        print("\nStopped. Finished work is kept: run the same command again to resume.", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        last = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
        if isinstance(error, ValueError) and last.is_relative_to(PACKAGE):
            sys.exit(f"error: {plain(str(error))}")
        if not files or os.environ.get("JFED_TRACEBACK"):
            raise
        sys.exit(f"error: {_of_member(error, files)}")


def _of_member(error: Exception, files: Sequence[Path]) -> str:
    from jfed.contracts.finding import explained, located

    homes = [path.resolve() for path in files]
    home = next((path for path in homes if located(error, path)), None)
    whose = "" if home else f" This may come from a member of {', '.join(path.name for path in homes)}."
    check = " ".join(str(path) for path in ([home] if home else files))
    return (
        f"{explained(error, home)}{whose} `jfed check {check}` looks for the cause, and JFED_TRACEBACK=1 shows the"
        " traceback."
    )
