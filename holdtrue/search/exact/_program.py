"""What is done with trees as machine code, made from the program beside this file for this processor.

What has been made is kept among jax's programs. Where a source of the program has been edited it is made anew, for
which numba must be there; a test tells who forgot to write it down (`_make`).
"""

import ctypes
import functools
import gzip
import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdtrue._cache import cache_dir
from holdtrue._files import replaced
from holdtrue.search.exact._arrays import Handed
from holdtrue.search.exact._desk import Desk
from holdtrue.search.exact._grove import Ground, Grove
from holdtrue.search.exact._wood import Asked, Wood

FILE = Path(__file__).with_name("program.ll.gz")
SOURCES = ("_arrays", "_branch", "_compiled", "_descent", "_desk", "_grove", "_look", "_make", "_points", "_reach",
           "_walk", "_wood")  # fmt: skip
DONE = (0, -2)  # numba's words for a function that has returned, and returned None
_lock = threading.Lock()


class Program:
    """What Python calls, without the interpreter's lock."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine  # keeps the code in memory
        address, word = ctypes.c_void_p, ctypes.c_int64
        out = ctypes.c_int32, address, address
        kind = ctypes.CFUNCTYPE(*out, address, address, word, address, word)
        self._search: Callable[..., int] = kind(engine.get_function_address("search"))
        self._walk: Callable[..., int] = ctypes.CFUNCTYPE(*out, address, address)(
            engine.get_function_address("walk")
        )

    def search(self, grove: Handed[Grove], room: Handed[Ground], p: int, desk: Handed[Desk], writes: bool) -> None:
        """Search for a person; see `_branch.search`."""
        _called(self._search, grove.address, room.address, p, desk.address, writes)

    def walk(self, wood: Handed[Wood], asked: Handed[Asked]) -> None:
        """Add up what trees say of rows; see `_walk.walk`."""
        _called(self._walk, wood.address, asked.address)


def _called(function: Callable[..., int], *arguments: int) -> None:
    result, raised = ctypes.c_void_p(), ctypes.c_void_p()
    status = function(ctypes.byref(result), ctypes.byref(raised), *arguments)
    assert status in DONE, status


def loaded() -> Program:
    """The program, made or read when it is first asked for."""
    with _lock:
        return _loaded()


@functools.cache
def _loaded() -> Program:
    # Here, not above: the compiler takes a tenth of a second to load, and only trees need it.
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    _, cpu, features = _processor()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu,
        features=features,
        opt=3,
        reloc="pic",
        codemodel="jitdefault",
        jit=True,
    )
    code = _code(machine)  # before the engine takes the machine
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Program(engine)


def _processor() -> tuple[str, str, str]:
    """The system, the processor at hand and what it can do."""
    import llvmlite.binding as llvm

    return llvm.get_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def digest() -> str:
    """Of what the program is made from."""
    found = hashlib.sha256()
    for name in SOURCES:
        found.update(Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8").encode())
    return found.hexdigest()


def written() -> str:
    """The program that came with the package."""
    return gzip.decompress(FILE.read_bytes()).decode()


def _code(machine: Any) -> bytes:
    """Machine code for the processor at hand: kept, or made."""
    import llvmlite

    sources, directory = digest(), cache_dir()
    # A folder may be shared by machines: code made for one processor ends the process on an older one.
    made_for = hashlib.sha256("\n".join((sources, llvmlite.__version__, *_processor())).encode()).hexdigest()
    kept = None if directory is None else directory / f"trees-{made_for[:32]}"
    found = b"" if kept is None or not kept.is_file() else kept.read_bytes()
    if found and hashlib.sha256(found[32:]).digest() == found[:32]:
        return found[32:]
    program = written()
    if not program.startswith(f"; {sources}\n"):
        from holdtrue.search.exact._make import text

        program = text()
    made = compiled(program, machine)
    if kept is not None:
        _keep(kept, made)
    return made


def compiled(program: str, machine: Any) -> bytes:
    """A program as machine code."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(program)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return bytes(machine.emit_object(module))


def _keep(place: Path, made: bytes) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with replaced(place) as stream:
            stream.write(hashlib.sha256(made).digest() + made)
    except OSError:  # a folder that cannot be written is no reason to stop
        return
