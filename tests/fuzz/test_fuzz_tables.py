"""Any text in place of a CSV file or a study's flags: the values that are written there, or one sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jfed.commands import studyfile
from jfed.commands.flags import Settings
from jfed.results.frames import read_csv
from tests.fuzz.damage import answered, damaged, fuzz

pytestmark = pytest.mark.proof

TABLES = [
    b"scheme,seed,x\na,0,0.5\nb,0,1\na,1,2\nb,1,inf\n",
    b'# made by hand\nsep=;\nMethod;Run;x\n"a;b";0;0,5\nb;0;1,25\n',
    b"strategy\tseed\tround\tx\na\t0\t1\t0.5\na\t0\t2\t0.7\na\t1\t1\tNaN\nb\t0\t2\t\n",
    "\ufeffscheme,seed,x\r\nä\u200b,0,1_000\r\nb,1,True\r\n".encode(),
    "scheme,seed,x\na,0,0.5\n".encode("utf-16"),
    b"Step,uniform-seed0 - x,uniform-seed0 - x__MIN,fedcs_seed_1 - x\n1,0.5,0.4,0.7\n2,0.6,0.5,\n",
]
FIELDS = st.text(st.sampled_from("ab01.,;\t|\"'#_-+eE=\r\n\0 \u00e9NaInf"), max_size=60).map(
    lambda text: b"scheme,seed,x\n" + text.encode()
)
FLAGS = [
    b'schemes = ["uniform", "e3cs-0.5"]\nseeds = 3\nnum_rounds = 5\ncohort_size = 2\nmode = "faithful"\n',
    b'dataset = "digits"\nlearning_rate = 0.05\nload = ["mine.py"]\ncohort_size = [2, 3]\n[a.b]\nc = 1979-05-27\n',
]


@fuzz(2)
@given(content=damaged(TABLES) | FIELDS, at=st.sampled_from([None, "last", 2]))
def test_tables(tmp_path_factory, content, at):
    path = tmp_path_factory.getbasetemp() / "table.csv"
    path.write_bytes(content)
    whole, scored = answered(read_csv, path), answered(lambda: read_csv(path, "x", at=at))
    for frame in (whole, scored):
        assert frame is None or len(frame)
    if scored is not None:
        assert {"scheme", "x"} <= set(scored.columns) and scored["scheme"].map(type).eq(str).all()


@fuzz(2)
@given(content=damaged(FLAGS))
def test_flags(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "study.toml"
    path.write_bytes(content)
    found = answered(studyfile.read, path)
    assert found is None or isinstance(found, Settings)
