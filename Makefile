# Python 3.10 or later and make are enough: the first target run sets up .venv.
#   make inspect   how an 8-GPU node is wired (a shipped sample)
#   make test      our own promises, 2 minutes at most
#   make check     ruff, mypy, tests, replays of recorded answers: what CI runs
PYTHON = python3
VENV = .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.ready
SHARED = ../shared
SAMPLE = sample:hgx-h100

.PHONY: inspect samples test lint replay check full bench fleet conformance e2e fuzz pyz clean

inspect: $(STAMP)
	@$(BIN)/gputopo inspect $(SAMPLE)

# Only when what is wanted changed. The stamp is written last, so an interrupted set-up starts again.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("gputopo needs Python 3.10 or later: make PYTHON=python3.x") if sys.version_info < (3, 10) else 0'
	@test -x $(BIN)/python || { echo "setting up $(VENV) (once)" >&2; $(PYTHON) -m venv $(VENV); }
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

samples: $(STAMP)
	@$(BIN)/gputopo formats --samples

# Tests write some 100,000 small files: in memory where there is room.
ROOM = $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print "TMPDIR=/dev/shm" }')
test: $(STAMP)
	$(ROOM) $(BIN)/python -m pytest -n 2

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m gputopo.documents.schema --check
	$(BIN)/python -m gputopo.rules.explain --check
	$(BIN)/python -m gputopo.commands.formats --check
	$(BIN)/python -m gputopo.commands.man --check
	$(BIN)/python -m gputopo.protos --check

# Recorded answers of the real systems; without them this says so and passes.
replay: $(STAMP)
	@if test ! -d $(SHARED)/data; then echo "no recorded answers in $(SHARED)/data: replays skipped"; else \
	set -ex; \
	$(BIN)/python tests/replay.py topo-dumps $(SHARED)/data/topo-dumps/index.jsonl; \
	$(BIN)/python tests/replay.py sysfs-lstopo $(SHARED)/data/sysfs/hwloc $(SHARED)/data/sysfs/other; \
	$(BIN)/python tests/replay.py hwloc-captures $(SHARED)/data/sysfs/hwloc $(SHARED)/data/sysfs/other \
	  $(SHARED)/data/sysfs/hwloc-xml; \
	$(BIN)/python tests/replay.py letters $(SHARED)/data/sysfs/letters/evidence.json; \
	$(BIN)/python tests/replay.py smi-sisters $(SHARED)/data/topo-dumps/other/index.jsonl; \
	$(BIN)/python tests/replay.py nccl-xml $(SHARED)/data/nccl/xml/index.jsonl; \
	$(BIN)/python tests/replay.py nccl-logs $(SHARED)/data/nccl/logs/index.jsonl; \
	$(BIN)/python tests/replay.py nccl-paths $(SHARED)/data/nccl/oracle; \
	$(BIN)/python tests/replay.py nccl-busbw $(SHARED)/data/nccl/busbw.jsonl; \
	$(BIN)/python tests/replay.py gpuallocator $(SHARED)/data/gpuallocator/node-*.json \
	  $(SHARED)/data/gpuallocator/random.json $(SHARED)/data/gpuallocator/alias-*.json; \
	$(BIN)/python tests/replay.py gpuallocator-outcomes $(SHARED)/data/gpuallocator/outcomes.json; \
	$(BIN)/python tests/replay.py gpuallocator-greedy $(SHARED)/data/gpuallocator/greedy.json; \
	for kind in merge hints allocate admit; do \
	  $(BIN)/python tests/replay.py kubelet-$$kind $(SHARED)/data/kubelet/$$kind.jsonl; done; \
	$(BIN)/python tests/replay.py kubelet-admit $(SHARED)/data/kubelet/admit-nondeterministic.jsonl; \
	$(BIN)/python tests/replay.py dra-cel $(SHARED)/data/dra/golden_cel_k8s1.36.json; \
	$(BIN)/python tests/replay.py dra-scenarios $(SHARED)/data/dra/golden_gpu_scenarios_*.json \
	  $(SHARED)/data/dra/golden_fuzz_*.json $(SHARED)/data/dra/upstream_allocator_cases_*.json \
	  $(SHARED)/data/dra/version_differences_*.json; \
	$(BIN)/python tests/replay.py public-reports $(SHARED)/data/public-reports/index.jsonl \
	  $(SHARED)/data/nccl/postmortems.jsonl; \
	fi

check: lint test replay

full: check conformance e2e bench fleet

bench: $(STAMP)
	@$(BIN)/python bench/startup.py
	@$(BIN)/python bench/allocate.py
	@$(BIN)/python bench/pods.py
	@$(BIN)/python bench/bandwidth.py
	@$(BIN)/python bench/report.py

# 1,000 and 10,000 bundles with seven planted faults: speed, memory, growth, and that all seven are named.
fleet: $(STAMP)
	@$(BIN)/python bench/fleet.py

# The real code as referee: needs Go, fetches its modules. COUNT questions a mechanism, SEED to draw them again.
conformance: $(STAMP)
	@$(BIN)/python -m conformance.run --count $(or $(COUNT),20000) $(if $(SEED),--seed $(SEED))

# The official client against a real kube-apiserver and etcd: needs Go, fetches their modules. Exit 2 without Go.
e2e: $(STAMP)
	@$(BIN)/python -m e2e.run

# Mutated inputs for every parser; 200,000 each over as many runs as it takes (fuzz/counts.json).
SECONDS = 60
fuzz: $(STAMP)
	nice -n 10 $(BIN)/python -m fuzz --seconds $(SECONDS)

# One file for nodes that have Python 3.10 or later and nothing else: dist/gputopo.pyz.
pyz: $(STAMP)
	@$(BIN)/python deploy/pyz.py dist/gputopo.pyz

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
