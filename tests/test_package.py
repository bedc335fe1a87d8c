"""The package as users get it: content of the wheel, work without the repository, one sentence for a missing extra."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import jfed

ROOT = Path(__file__).parents[1]
KEPT = ("jfed", "README.md", "LICENSE", "pyproject.toml")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the wheel of a clean copy of the tree, built with the installed packages."""
    setuptools = pytest.importorskip("setuptools")
    if int(setuptools.__version__.split(".")[0]) < 77:
        pytest.skip("building the wheel needs setuptools 77 or newer")
    import shutil

    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in KEPT:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    for other in ("experiments", "tools", "tests"):
        (source / other).mkdir()
        (source / other / "__init__.py").touch()
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(out),
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return next(out.glob("*.whl"))


def test_the_wheel_holds_jfed_only(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"jfed", f"jfed-{jfed.__version__}.dist-info"}
    files = {"jfed/py.typed", "jfed/__main__.py", "jfed/data/digits/digits.npz", "jfed/claims/e3cs.toml"}
    assert files | {"jfed/catalog/shipped.json"} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    with zipfile.ZipFile(wheel) as file:
        entry = file.read(f"jfed-{jfed.__version__}.dist-info/entry_points.txt").decode()
    assert "jfed = jfed.cli:main" in entry


def alone(wheel, tmp_path, *arguments):
    """Return the output of a command that imports the unpacked wheel in place of this checkout."""
    code = f"import sys; sys.path.insert(0, {str(wheel)!r}); from jfed.cli import main; main()"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.proof
def test_the_wheel_works_without_the_repository(wheel, tmp_path):
    unpacked = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(unpacked)
    assert alone(unpacked, tmp_path, "--version").strip() == f"jfed {jfed.__version__}"
    ran = alone(unpacked, tmp_path, "run", "--num-rounds", "40", "--seeds", "3", "--out", "run")
    assert "fedcs" in ran and "better" in ran
    assert "e3cs-0.5" in alone(unpacked, tmp_path, "table", "run")
    assert "E-1" in alone(unpacked, tmp_path, "claims")
    code = (
        f"import sys; sys.path.insert(0, {str(unpacked)!r}); import jfed;"
        " training = jfed.Training(samples_per_client=10, test_set='official');"
        " base = jfed.Config(num_clients=8, cohort_size=3, num_rounds=3, training=training);"
        " print(float(jfed.run(jfed.methods(base, ['uniform']), [0], progress=False).test_accuracy[0, -1]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and 0 <= float(done.stdout) <= 1, done.stderr


def test_python_m_jfed_says_its_version():
    done = subprocess.run(
        [sys.executable, "-m", "jfed", "--version"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.stdout.strip() == f"jfed {jfed.__version__}"


@pytest.mark.parametrize(
    ("module", "extra", "statement"),
    [
        ("matplotlib", "figures", "import jfed.report.figures.plots"),
        ("h5py", "netcdf", "import jfed.results.netcdf"),
        ("tensorboardX", "live", "import jfed; jfed.TensorBoard('never')"),
    ],
)
def test_a_missing_extra_is_one_sentence(module, extra, statement):
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from jfed.core.errors import ConfigError\n"
        f"try:\n    {statement}\nexcept ConfigError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout == f"This needs {module}, which is not installed: pip install 'jfed[{extra}]'.\n", done.stderr
