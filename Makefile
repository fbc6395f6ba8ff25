# Every target does its own set-up in .venv; stamps keep second runs quick.
# PYTHON picks the interpreter the environment is made with.

PYTHON ?= python3

BIN   := .venv/bin
STAMP := .venv/.stamp
PIP   := $(BIN)/python -m pip install --disable-pip-version-check --no-compile --quiet
RUST  := $(shell find src crates -name '*.rs' 2>/dev/null) Cargo.toml crates/pure/Cargo.toml Cargo.lock

# The extension is built for release where it is measured; the demo, the checks and the tests take any.
FAST := $(STAMP)/extension-release
ANY  := $(STAMP)/extension-$(if $(wildcard $(FAST)),release,dev)

# The tests' own clock is a feature of a package that half of the others stand on: asked for wherever it costs nothing, or
# all of them would be built once for the extension and once for the tests.
CLOCK := tokio/test-util

# Most of the tests' time is waited for: clocks of venues, sockets, other processes. So several times as many run at once as
# there are cores.
CORES ?= $(shell nproc 2>/dev/null || echo 2)
export RUST_TEST_THREADS ?= $(shell expr 6 '*' $(CORES))
WORKERS ?= $(shell expr 2 '*' $(CORES))

export VIRTUAL_ENV := $(abspath .venv)
export PIP_NO_INPUT := 1

.DEFAULT_GOAL := help
.PHONY: help demo page test test-rust test-python lint lint-python types clippy wheel bench licences scorecard soak fuzz pictures notebooks tools docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP)/demo $(ANY) ## a simulated market behind a loopback server, asked all ten: tables, heatmap.png, liqmap.png
	$(BIN)/python -m liqdata demo

# Threads of a linear algebra library wait for each other in a loop: with all cores busy that is a sixth of the tests' time.
test: export OPENBLAS_NUM_THREADS = 1
# Hundreds of processes import the package: what one of them has compiled, the others need not.
test: export PYTHONDONTWRITEBYTECODE =

# The tests of Rust wait for a third of their time, so they run beside those of Python, and are printed when they end.
test: $(STAMP)/test $(ANY) ## every test: Rust, Python, docstrings, README
	cargo test --locked --workspace --no-default-features --no-run
	$(MAKE) --no-print-directory --jobs 2 test-rust test-python

# Cargo repeats what it had to say of the library without its Python half, which clippy checks with it.
test-rust:
	env --unset MAKEFLAGS --unset MFLAGS cargo test --locked --workspace --no-default-features >target/tests-rust.txt 2>&1; rust=$$?; \
		cat target/tests-rust.txt; exit $$rust
	! grep -A 9 '^warning' target/tests-rust.txt

test-python:
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

page: $(STAMP)/page ## the page of web/ checked, tested, and compared with web/dist
	cd web && npm run --silent check

# Clippy needs no Python and waits for no download, so it runs while the packages of Python and of the page are installed.
# The extension is built by one core for much of its time: the type checkers, which read its stub alone, take the other.
lint: ## every check, of Rust and Python at the same time
	cargo fmt --all --check
	$(MAKE) --no-print-directory clippy & rust=$$!; \
		$(MAKE) --no-print-directory page lint-python; python=$$?; wait $$rust && exit $$python
	$(MAKE) --no-print-directory $(ANY) & rust=$$!; \
		$(MAKE) --no-print-directory types; python=$$?; wait $$rust && exit $$python
	$(BIN)/python -m mypy.stubtest liqdata._core
	$(BIN)/python tests/lint/replies.py

# Where clippy is the compiler, a build is the check: that of the tests here, and that of the extension after it.
clippy:
	$(if $(RUSTC_WORKSPACE_WRAPPER),cargo test --locked --workspace --no-default-features --no-run,cargo clippy \
		--locked --workspace --all-targets -- -D warnings)

lint-python: $(STAMP)/test $(STAMP)/lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python tests/lint/plain.py
	$(BIN)/python tests/lint/faces.py
	$(BIN)/python tests/lint/licences.py

types: $(STAMP)/test $(STAMP)/lint
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

wheel: $(STAMP)/wheel ## the release wheel for manylinux in dist/, its size and tag checked, the ten questions asked in every Python found
	rm -rf dist
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/maturin build --release --locked --zig --compatibility manylinux_2_28 --out dist
	$(BIN)/python tests/wheel/pack.py dist/*.whl
	$(BIN)/python tests/wheel/check.py dist/*.whl
	$(BIN)/python tests/lint/licences.py dist/*.whl

licences: ## the licence texts of what is compiled in, in THIRD-PARTY.txt (needs cargo-about)
	cargo about generate --offline --locked --all-features -c deploy/licences/about.toml deploy/licences/about.hbs -o THIRD-PARTY.txt

bench: $(STAMP)/bench $(FAST) ## the client against its peers and hostile replies, the archive against SQLite, DuckDB and polars, the server against nginx and FastAPI and under attack, the estimate against numba, the page in a browser; writes docs/dev/benchmarks*.md
	cargo build --quiet --release --locked --no-default-features --example ready --example load --example decode_rate --example exchange_double
	rm -rf target/bench
	$(BIN)/python tests/bench/slope.py
	$(BIN)/python tests/bench/archive.py
	$(BIN)/python tests/bench/history.py
	$(BIN)/python tests/bench/features.py
	$(BIN)/python tests/bench/ingest.py
	$(BIN)/python tests/bench/serving.py
	$(BIN)/python tests/bench/attacks.py
	$(BIN)/python tests/bench/decode.py
	$(BIN)/python tests/bench/vendors.py
	$(BIN)/python tests/bench/estimate.py
	$(BIN)/python tests/bench/page.py
	$(BIN)/python tests/bench/run.py
	$(BIN)/python tests/bench/floors.py

scorecard: $(STAMP)/test $(FAST) ## what the estimate scores on simulated markets, and on recordings in $LIQDATA_REAL_DATA; writes docs/explanation/scorecard.md
	$(BIN)/python tests/scorecard/run.py

soak: $(STAMP)/soak $(FAST) ## the long forms of the process tests
	LIQDATA_SOAK=1 cargo test --locked --no-default-features --test storage --test collecting --test contract \
		--config 'profile.test.package.liqdata.opt-level=2'
	LIQDATA_SOAK=1 $(BIN)/python -m pytest tests/python tests/page

# How long each target runs, and which ones.
FUZZ_SECONDS ?= 600
FUZZ_TARGETS ?= $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))

fuzz: $(STAMP)/cargo-fuzz ## every decoder on inputs led by the code they reach, 10 minutes each; FUZZ_SECONDS=60 FUZZ_TARGETS=frames for less
	for target in $(FUZZ_TARGETS); do \
		PATH="$(abspath $(BIN)):$$PATH" cargo fuzz run --sanitizer none --codegen-units 16 $$target -- \
			-max_total_time=$(FUZZ_SECONDS) -max_len=8192 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 || exit 1; \
	done

pictures: $(STAMP)/test $(ANY) ## the pictures of docs/how-to/plots.md, in target/pictures; the first of the README is one of them
	mkdir -p target/pictures
	sed -n '/^```python$$/,/^```$$/{/^```/d;p;}' docs/how-to/plots.md > target/pictures/page.py
	cd target/pictures && MPLBACKEND=agg ../../$(BIN)/python page.py
	cp target/pictures/heatmap.png docs/images/heatmap.png

notebooks: $(STAMP)/test $(ANY) ## the notebooks of examples/notebooks, each run in a kernel and written with what it shows
	$(BIN)/python tests/python/generators/notebooks.py

tools: $(STAMP)/tools $(ANY) ## the programs of examples/tools, each in an environment of its own in target/tools, against docs/how-to/tools.md
	$(BIN)/python examples/tools/run.py

docs: $(STAMP)/test $(ANY) ## the documentation site in site/, with every link and anchor checked; open site/index.html
	$(BIN)/python tests/site/build.py
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --document-private-items --features $(CLOCK)

clean: ## remove the environment, the build and the pictures
	rm -rf .venv site target fuzz/target fuzz/corpus fuzz/artifacts dist heatmap.png liqmap.png python/liqdata/*.so
	find . -name __pycache__ -prune -exec rm -rf {} +

$(STAMP)/pip:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed; say make PYTHON=python3.x")'
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade 'pip>=25.1'
	mkdir -p $(STAMP) && touch $@

# One stamp per dependency group of pyproject.toml.
$(STAMP)/build $(STAMP)/demo $(STAMP)/test $(STAMP)/soak $(STAMP)/lint $(STAMP)/tools $(STAMP)/wheel $(STAMP)/bench: $(STAMP)/%: pyproject.toml | $(STAMP)/pip
	@echo "== Python packages for $*, into .venv: some minutes at first; pip tells what goes wrong alone"
	$(PIP) --group $*
	touch $@

$(STAMP)/page: web/package-lock.json | $(STAMP)/pip
	cd web && npm ci --ignore-scripts --no-audit --no-fund --silent
	touch $@

# Beside the environment's own programs, so that nothing is put where the user's are.
$(STAMP)/cargo-fuzz: | $(STAMP)/pip
	cargo install --quiet --locked --root .venv cargo-fuzz
	touch $@

MINUTES_dev     := 3
MINUTES_release := 7
BUILD_dev       := --profile dev --features $(CLOCK)
BUILD_release   := --profile release

# The Python files are linked, so only Rust sources and the project files build anew.
$(STAMP)/extension-release $(STAMP)/extension-dev: $(STAMP)/extension-%: $(RUST) pyproject.toml | $(STAMP)/build
	@echo "== building the extension ($*): from nothing about $(MINUTES_$*) minutes on two cores, later only what changed"
	$(BIN)/maturin develop --locked $(BUILD_$*)
	rm -f $(STAMP)/extension-*
	touch $@
