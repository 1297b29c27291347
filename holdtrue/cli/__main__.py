"""``python -m holdtrue.cli``, for places where the script is not on the path."""

from holdtrue.cli import main

if __name__ == "__main__":
    main()
