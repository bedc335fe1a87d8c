"""Write the data sets of a pack as files that jfed reads, and read each once."""

import sys
from pathlib import Path

from jfed.commands.mistakes import in_words
from tools.gpu import carried
from tools.gpu.child import told


def main() -> None:
    """Unpack what `--pack` holds into `--data-dir`."""
    asked = told(__doc__, set_up=False)
    if asked.pack is None:
        print("There is no pack: the digits of jfed alone.")
        return
    with in_words():
        for name in carried.unpack(Path(asked.pack), asked.data_dir):
            print(f"{name} after {asked.spent():.1f} s")
    print(
        "tables:", ", ".join(f"{table} on {name}" for table, name in carried.tables(asked.data_dir).items()) or "none"
    )


if __name__ == "__main__":
    sys.exit(main())
