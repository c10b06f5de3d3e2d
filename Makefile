# The two commands of the README are `make demo` and `make test`.  Each sets up all it needs.

VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find cpp python rwrapper/R CMakeLists.txt pyproject.toml -type f -not -name '*.pyc')
HEADERS := $(shell find cpp -name '*.hpp')
TIDIED := $(patsubst %,build/lint/%.tidied,$(shell find cpp/src -name '*.cpp'))
JOBS := $(shell nproc 2>/dev/null || echo 2)

# Without compiled modules each worker takes five seconds more to read the tests a second time.
unexport PYTHONDONTWRITEBYTECODE
# What nobody imports is not compiled: the tests of other packages, and mypy, which has machine code.
INSTALL := $(BIN)/pip install --quiet --no-compile
COMPILE := $(BIN)/python -m compileall -qq -x '/(tests?|mypyc?)/' $(VENV)/lib || true

.PHONY: demo test lint types test-core test-python test-fuzz test-r docs test-docs wheel engines arm64 wasm musl audit fuzz bench bench-quick format clean

demo: $(VENV)/installed
	mkdir -p build
	$(BIN)/dpreg demo --picture build/demo.png

# What needs one processor most of the time runs beside what needs all of them.
test: $(VENV)/test $(VENV)/docs $(VENV)/fuzz
	$(MAKE) --jobs=$(JOBS) test-core test-r test-python test-fuzz test-docs

# The types and clang-tidy, beside one another, are nearly all of it.
lint: $(VENV)/lint
	mkdir -p build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	git ls-files 'cpp/*.hpp' 'cpp/*.cpp' 'tests/cpp/*.cpp' | xargs $(BIN)/clang-format --dry-run -Werror
	$(BIN)/cmake -S . -B build/lint -G Ninja -DDPREG_PYTHON=OFF -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) > build/lint.log
	$(MAKE) --jobs=$(JOBS) --keep-going types $(TIDIED)

types: $(VENV)/lint
	$(BIN)/mypy

# Not again where neither a file nor a header has changed.
$(TIDIED): build/lint/%.tidied: % $(HEADERS) .clang-tidy CMakeLists.txt $(VENV)/lint
	$(BIN)/clang-tidy -p build/lint --quiet --warnings-as-errors='*' $<
	mkdir -p $(@D)
	touch $@

# The core by itself and from Python, under the address and undefined-behaviour sanitizers.  Of the
# fuzzers, the last input that reaches another branch is below 1,000, 1,000 and 100.
test-core: $(VENV)/test
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DDPREG_TESTS=ON -DDPREG_SANITIZE=ON \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	  -DPython_EXECUTABLE=$(abspath $(BIN)/python) -Dpybind11_DIR=$$($(BIN)/python -m pybind11 --cmakedir)
	$(BIN)/cmake --build build/sanitize
	build/sanitize/dpreg_tests
	build/sanitize/fuzz_models 3000
	build/sanitize/fuzz_scores 2000
	build/sanitize/fuzz_sums 1000
	.ci/sanitize $(VENV) build/sanitize tests/bindings

# What small fits free is kept for the next ones.  Given back to the system, as glibc does from 128 KB
# on, and asked for again it takes a tenth of their time.  Benchmarks have the memory of users.
test-python test-fuzz docs test-docs: export MALLOC_MMAP_THRESHOLD_ := 33554432
test-python test-fuzz docs test-docs: export MALLOC_TRIM_THRESHOLD_ := 268435456

# Those of the site and of R are run where there is a site, and R.
test-python: $(VENV)/test
	$(BIN)/pytest -n $(JOBS) --dist worksteal --ignore=tests/docs --ignore=tests/r

# The fuzzers of Python, always with the same inputs.
test-fuzz: $(VENV)/fuzz
	$(BIN)/python tests/fuzz/run.py --fixed --seed 1

# The R package, with Python in the same virtual environment.
test-r: $(VENV)/test
	.ci/r $(VENV)

# The site, build/docs/html.
docs: $(VENV)/docs
	.ci/docs $(VENV)

# The site in a headless browser.
test-docs: docs
	.ci/docs $(VENV) test

# sdist, wheel for this machine and its SBOM, in build/dist: built twice, tried without a compiler.
wheel: $(VENV)/release
	.ci/wheel $(VENV)

# Spark on this machine; it needs Java.
engines: $(VENV)/test
	$(BIN)/python .ci/needs engines | $(BIN)/pip install --quiet --requirement /dev/stdin
	$(BIN)/pytest tests/data/test_engines.py tests/data/test_spark.py

# The core for other platforms: its tests, equal bits, and the accuracy of their C library.
arm64 wasm musl: $(VENV)/lint
	.ci/cross $(VENV) $@

# Ten times the runs of `make test`, whole calls, batteries on the generator, the ledger under
# kill -9, and the fuzzers for a minute each.
audit: $(VENV)/test
	$(BIN)/python tests/audit/full.py

# All fuzzers, SECONDS_EACH for each, from SEED; without clang and libFuzzer those of Python.
fuzz: $(VENV)/fuzz
	$(BIN)/python tests/fuzz/run.py --seconds $${SECONDS_EACH:-60} --seed $${SEED:-0}

# The report is build/bench.md; DATA=folder adds accuracy on real data sets, COMMIT=1 writes the
# pages of tests/benchmarks and the figures that later runs are compared with, ONLY="bench_glm ..."
# runs these and takes the others as the last run left them, or leaves them out.
bench: $(VENV)/test
	$(BIN)/python tests/benchmarks/run.py $(if $(DATA),--data $(DATA)) $(if $(COMMIT),--commit) $(if $(ONLY),--only $(ONLY))

bench-quick: $(VENV)/test
	$(BIN)/python tests/benchmarks/run.py --quick $(if $(DATA),--data $(DATA))

format: $(VENV)/lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	git ls-files 'cpp/*.hpp' 'cpp/*.cpp' 'tests/cpp/*.cpp' | xargs $(BIN)/clang-format -i

$(VENV)/created:
	.ci/setup $(VENV)
	touch $@

# The package is built here and nowhere else; the others are what an extra of it needs.
$(VENV)/installed: $(VENV)/created $(SOURCES)
	$(INSTALL) '.[plots]'
	$(COMPILE)
	touch $@

$(VENV)/test $(VENV)/docs $(VENV)/fuzz: $(VENV)/%: $(VENV)/installed
	$(BIN)/python .ci/needs $* | $(INSTALL) --requirement /dev/stdin
	$(COMPILE)
	touch $@

$(VENV)/lint: $(VENV)/created pyproject.toml
	$(BIN)/python .ci/needs lint | $(INSTALL) --requirement /dev/stdin
	$(COMPILE)
	touch $@

# Every file that takes part in a build is known by its hash.
$(VENV)/release: $(VENV)/created .ci/release.txt
	$(BIN)/pip install --quiet --require-hashes -r .ci/release.txt
	touch $@

clean:
	rm -rf $(VENV) build
