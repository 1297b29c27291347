"""Make the program of the search over tree ensembles: the functions beside this file, as numba compiles them.

    python -m holdtrue.search.exact._make [--check]

What is written is LLVM's own language, for any processor of 64 bits: optimised, with the vectors of many, and with
nothing that only one has. numba takes 20 s for it, most of them to work out the type of everything in Python; what
is left to do (`_program`) takes half a second. So the result comes with the package, and numba does not. Which of
the compilers of the last years reads it does not matter, nor does it to any number: nothing is reordered.
"""

import argparse
import gzip
import os
import re
import subprocess
import sys
from typing import Any

from holdtrue.search.exact._program import FILE, digest

ENTRIES = ("search", "walk")
BETWEEN = "; next\n"
WIDE = "haswell"  # has vectors of eight single numbers; a processor with shorter ones takes them in two
HINTS = (
    r" (captures|memory|nofpclass|range)\([^)]*\)", r" initializes\(\([^)]*\)\)", r" dead_on_(return|unwind)",
    r" (nneg|disjoint|samesign)(?= )", r"(?<=trunc)( nuw| nsw)+", r"(?<=getelementptr inbounds) nuw",
    r"(?<=getelementptr) nuw",
)  # fmt: skip
"""What a newer compiler notes about instructions and an older one cannot read: hints that may be left out."""


def text() -> str:
    """The program, by numba as it is installed; in a process of its own, since numba reads settings once."""
    settings = {"NUMBA_OPT": "0", "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_JIT": "0"}
    command = [sys.executable, "-m", "holdtrue.search.exact._make", "--print"]
    done = subprocess.run(command, env=os.environ | settings, check=True, stdout=subprocess.PIPE, text=True)
    return f"; {digest()}\n{readable(shortened(done.stdout))}"


def _by_numba() -> str:
    from holdtrue.search.exact._branch import search
    from holdtrue.search.exact._walk import walk

    parts = [part for entry in (search, walk) for part in entry.inspect_llvm().values()]
    return BETWEEN.join(map(str, parts))


def shortened(said: str) -> str:
    """What numba says, as two functions and what they call often, with vectors where loops can have them."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module, *others = [_named(said, name) for name, said in zip(ENTRIES, said.split(BETWEEN), strict=True)]
    for other in others:
        module.link_in(other)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization, options.slp_vectorization, options.loop_unrolling = True, False, False
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=WIDE, features="")
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return str(module)


def _named(said: str, name: str) -> Any:
    """A module of which one function can be called, by its name."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(said)
    bodies = [function for function in module.functions if not function.is_declaration]
    entry = next(one for one in bodies if re.match(rf"_ZN8holdtrue\w*\d+{name}B", one.name))
    others = [function for function in bodies if function.name != entry.name]
    for i, function in enumerate(others):
        function.linkage, function.name = "internal", f"{name}{i}"
    entry.linkage, entry.name = "external", name
    for kept in module.global_variables:  # numba's, for errors
        kept.linkage = "internal"
    return module


def readable(said: str) -> str:
    """The program without what names this machine, and what compilers of the last years do not all know."""
    lines = []
    for line in said.splitlines():
        if re.match(r"source_filename|target |attributes #|!|; |$|declare void @llvm\.lifetime", line):
            continue
        if "@llvm.lifetime." in line:  # how long a place is used
            continue
        for hint in HINTS:
            line = re.sub(hint, "", line)
        line = re.sub(r" #\d+| local_unnamed_addr| unnamed_addr|, ![\w.]+ !\d+| +; preds.*", "", line)
        lines.append(line.replace("@sqrt(", "@llvm.sqrt.f64("))
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the program, or say whether it is the one that is written."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="fail where it is not what is written")
    parser.add_argument("--print", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.print:
        print(_by_numba(), end="")
        return
    made = text()
    if options.check:
        known = gzip.decompress(FILE.read_bytes()).decode()
        sys.exit(0 if known == made else f"{FILE.name} is not what its sources give")
    FILE.write_bytes(gzip.compress(made.encode(), 9, mtime=0))
    print(f"{FILE.name}: {len(made):,} characters, {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
