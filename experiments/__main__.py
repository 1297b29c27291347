"""Write the papers' pages and draw their pictures from committed results: ``python -m experiments [PAPER ...]``.

Reads ``experiments/<paper>/results/*.json``, writes the tables between the marks of ``docs/papers/<paper>.md`` and
draws the pictures beside those of ``docs/images``. Nothing is measured here.
"""

import sys

from experiments._pages import write
from experiments._registry import EXPERIMENTS

if __name__ == "__main__":
    for paper in sys.argv[1:] or EXPERIMENTS:
        write(paper)
