"""``python -m benchfill``."""

from benchfill.cli import main

if __name__ == "__main__":
    main()
