# make bench   set up, train, build, measure the suite `quick` on a simulated Uno; a table and a report
# make test    set up, run all tests
# make check   ruff, ruff format and mypy --strict
# make measure the figures the README quotes, measured on this machine; FIGURES=loop for the quick ones,
#              FIGURES=learners.budgets for one source; what was stopped goes on where it was
# make reference  take the firmware's cycles and bytes of today as what later changes are held against
# make papers  rebuild the papers' figures from nothing, and renew what results/papers says of them
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: bench test check measure papers reference setup packages format clean

bench: setup
	@$(BIN)/kilobench run quick --sim

test: setup
	@$(BIN)/python -m pytest -n 2 --dist loadgroup

check: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: setup
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

measure: setup
	@$(BIN)/python -m harness.measure $(FIGURES)

papers: setup
	@$(BIN)/python -m harness.measure papers

# The same models as before unless RETRAIN=1, so that rows differ by what the firmware costs.
reference: setup
	@rm -rf results/reference.new
	@$(BIN)/kilobench run reference --sim --quiet --out results/reference.new $(if $(RETRAIN),,--models results/reference)
	@rm -rf results/reference && mkdir results/reference
	@cd results/reference.new && mv run.json rows.csv samples.csv models ../reference
	@rm -rf results/reference.new

setup: packages $(READY)

packages:
	@PYTHON=$(PYTHON) sh .ci/packages

# The stamp is made last, so that an interrupted installation is taken up again.
$(READY): pyproject.toml .ci/constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed; say which: make PYTHON=python3.11")'
	@echo "Setting up .venv"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c .ci/constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf .venv firmware/.pio .pytest_cache .mypy_cache .ruff_cache
