"""Get the most out of minutes on a bare machine with an accelerator: `python tools/gpu_run.py --pack FOLDER --out OUT`.

Needs the packages named in docs/how-to/borrowed.md and what `gpu_pack` packed; nothing is installed. Stages run in
order, each in a process and with a time limit of its own, and each leaves an archive in OUT, renewed while it runs.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # any Python may start this file from anywhere
    from tools.gpu.supervise import main

    sys.exit(main(__doc__))
