from holdtrue.runs._read import DATASET, Source, dataset
from holdtrue.runs._run import Run, run
from holdtrue.runs._write import Sink, check_place, format_of, is_stream, open_stream, write_table

__all__ = [
    "DATASET",
    "Run",
    "Sink",
    "Source",
    "check_place",
    "dataset",
    "format_of",
    "is_stream",
    "open_stream",
    "run",
    "write_table",
]
