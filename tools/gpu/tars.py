"""Archives of what a stage has left, each below a size: when not all fits, the largest files are left out."""

import gzip
import io
import tarfile
from pathlib import Path

LIMIT = 15 << 20
OVERHEAD = 16 << 10  # of a file beside its content: its header, padding, and the end of the archive
UNWANTED = {"checkpoints", "__pycache__"}


def pack(folder: Path, target: Path, limit: int = LIMIT) -> list[str]:
    """Write the files below a folder into a tar.gz file that replaces an older one at once.

    Returns:
        the files that were left out, since the archive would have become larger than the limit.
    """
    found = [p for p in folder.rglob("*") if p.is_file() and not UNWANTED & set(p.relative_to(folder).parts)]
    sizes = {path: path.stat().st_size for path in found}
    left_out = []
    part = target.with_name(f".{target.name}.part")
    with (
        part.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for path in sorted(found, key=lambda p: (sizes[p], p)):
            content = path.read_bytes()  # the stage may be writing it
            packed.flush()
            name = str(path.relative_to(folder.parent))
            if raw.tell() + len(content) + OVERHEAD > limit:
                left_out.append(name)
                continue
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(content), int(path.stat().st_mtime)
            tar.addfile(info, io.BytesIO(content))
    part.replace(target)
    return left_out
