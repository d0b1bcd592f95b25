# Shortcuts; the README's two commands need none of them.
.PHONY: run test check
run:
	python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/benchfill run --gaps 3
test:
	python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && .venv/bin/python -m pytest -n 2 --dist loadgroup
check:
	bash .ci/run
