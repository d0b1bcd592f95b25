"""Write the annotated tree that closes the README: one line a file, from the first line of each docstring.

python docs/annotated_tree.py            rewrite README.md
python docs/annotated_tree.py --check    exit 1 when it is not up to date
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- tree -->\n", "<!-- /tree -->\n"
FOLDERS = ("benchfill", "tests", "benchmarks", "docs")
# Files that carry no docstring.
OTHERS = {
    "pyproject.toml": "packaging, dependencies with their reasons, settings of the linters",
    "langgraph.json": "names the graph for LangGraph Studio and Server",
    "Makefile": "shortcuts",
    "CHANGELOG.md": "what changed, in the words of users",
    "LICENSE": "MIT",
    ".ci/run": "everything that must pass before a change lands",
    "README.md": "this page",
    "README.zh.md": "this page in Chinese",
    "py.typed": "the package carries types",
    "1.zdict": "what bodies of calls have in common, to compress them by; never changed once released",
    "pinned.json": "hashes of the released prompts",
    "search-frontier.svg": "what fixed batches take, and the search beside them",
    "items.jsonl": "the sample benchmark, written for this project",
    "responses.csv": "its simulated response log",
}


def note(path: Path) -> str:
    """What a file is, in one line."""
    if path.name in OTHERS:
        return OTHERS[path.name]
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or "").split("\n")[0].strip()
    first = next((line for line in text.splitlines() if line.strip()), "")
    if path.parts[-3:-1] and "prompts" in path.parts:
        return f"prompt: {first.lstrip('# ')}"[:100]
    return first.lstrip("#< ").strip()[:100]


def wanted(path: Path) -> bool:
    if not path.is_file() or any(part in {"__pycache__", ".mypy_cache"} for part in path.parts):
        return False
    # A package's __init__ is told by its folder.
    return path.name != "__init__.py" and path.suffix not in {".pyc"}


def tree() -> str:
    """The tree as text."""
    lines = []
    for name in sorted(OTHERS):
        if (ROOT / name).is_file():
            lines.append(f"{name:<40} {OTHERS[name]}")
    for folder in FOLDERS:
        for place in sorted({path.parent for path in (ROOT / folder).rglob("*") if wanted(path)}):
            init = place / "__init__.py"
            said = note(init) if init.is_file() and init.read_text(encoding="utf-8").strip() else ""
            lines.append("")
            lines.append(f"{place.relative_to(ROOT).as_posix() + '/':<40} {said}".rstrip())
            lines.extend(
                f"  {path.name:<38} {note(path)}".rstrip() for path in sorted(place.iterdir()) if wanted(path)
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    fresh = f"{before}{BEGIN}```\n{tree()}```\n{END}{after}"
    if "--check" in sys.argv:
        if fresh != text:
            sys.exit("README.md: the tree is out of date; run python docs/annotated_tree.py")
        return
    readme.write_text(fresh, encoding="utf-8")


if __name__ == "__main__":
    main()
