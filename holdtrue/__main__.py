"""`python -m holdtrue` is the command line."""

from holdtrue.cli import main

if __name__ == "__main__":
    main()
