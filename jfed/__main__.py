"""`python -m jfed` is the command `jfed`."""

from jfed.cli import main

if __name__ == "__main__":
    main()
