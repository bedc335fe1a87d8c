# Each target does its own set-up: a virtual environment in the checkout, versions from constraints.txt.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OUT ?= out
unexport PYTHONDONTWRITEBYTECODE  # many tests start jfed in processes of their own, which then need not compile it

.PHONY: run numerical test check docs proof reproduce verdicts compat lint bench clean

# The main job: E3CS at four quotas and its rivals on the shipped digits, ending with a significance table.
run: $(VENV)/ready
	$(BIN)/python -m experiments.cifar_e3cs --preset quick --out $(OUT)/e3cs_quick

# Figs. 3 and 4 of E3CS, without training.
numerical: $(VENV)/ready
	$(BIN)/python -m experiments.e3cs_numerical --out $(OUT)/e3cs_numerical

# What every change needs: lint, types and the quickest tests. Under five minutes on two slow cores.
test: lint
	$(BIN)/python -m pytest -m "not check and not proof" -n 2 --dist loadfile

# The rest of what must hold before a change lands: longer references, whole experiments, kills, and the pages.
check: docs
	$(BIN)/python -m pytest -m "check and not proof" -n 2 --dist loadfile

# The pages of docs/, without the network; a warning is an error. They are in build/docs/index.html.
docs: $(VENV)/ready
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

# What is slow: calibration, long statistics, whole experiments, damage, kills, and workers on a local Ray cluster.
proof: $(VENV)/ready
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[ray]"
	$(BIN)/python -m pytest -m proof

# The experiments of the four papers that take minutes, compared with the committed tables: some 45 minutes. Those on
# MNIST need it below $JFED_DATA_DIR, or downloaded by `jfed data get mnist`.
reproduce: $(VENV)/ready
	$(BIN)/python -m tools.reproduce

# experiments/README.md, and the papers' pages with their tables and pictures, from the committed tables; seconds.
verdicts: $(VENV)/ready
	$(BIN)/python -m tools.claims
	$(BIN)/python -m tools.papers

# The quick tests on other interpreters with the newest jax, where those interpreters exist.
compat:
	bash .ci/compat

bench: $(VENV)/ready
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .venv-* build *.egg-info .ruff_cache .hypothesis

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("jfed needs Python 3.11 or newer, found " + sys.version) if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@
