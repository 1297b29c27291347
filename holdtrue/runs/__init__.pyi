from holdtrue.runs._read import DATASET, Source, dataset
from holdtrue.runs._reasons import Told, reasoner_of, reasons_of
from holdtrue.runs._run import Run, run
from holdtrue.runs._write import Sink, check_place, format_of, is_stream, open_stream, write_table

__all__ = [
    "DATASET",
    "Run",
    "Sink",
    "Source",
    "Told",
    "check_place",
    "dataset",
    "format_of",
    "is_stream",
    "open_stream",
    "reasoner_of",
    "reasons_of",
    "run",
    "write_table",
]
