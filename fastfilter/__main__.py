"""``python -m fastfilter``: the command line."""

from fastfilter.cli import main

if __name__ == "__main__":
    main()
