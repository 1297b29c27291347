from holdtrue.runs._read import Source
from holdtrue.runs._run import Run, run

__all__ = ["Run", "Source", "run"]
