"""``python -m holdfast.cli``, for places where the script is not on the path."""

from holdfast.cli import main

if __name__ == "__main__":
    main()
