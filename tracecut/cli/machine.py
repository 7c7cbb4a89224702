"""`tracecut machine`: describe this machine or a modelled one, as text, JSON, TOML or a picture."""

from __future__ import annotations

import argparse
import json

from tracecut.support.errors import UsageError

from .words import Parser, handle_signals

USAGE = "tracecut machine [detect | show MACHINE] [options]"
MACHINE = (
    "detect (this machine), model, mesh:8x8, torus:8x8, tree:4x4x4, uma:8, cpu_gpu:24:1, topo1:96:8:2, topo2:96:8:2, "
    "topo3:4:1:4, or a TOML file"
)
FORMS = (
    "tree:4x4x4 has 4 units of 4 units of 4 cores; tree:4x4x4@100,10,1 also states the distance of two cores that "
    "part at each level, from the root. cpu_gpu:24:1 has 24 cores and 1 GPU. topo1:96:8:2 has 96 units, of which "
    "8 are fast, as row 2 (of 0 to 4) of Hetero's Table III states their speed and memory; in topo2:96:8:2 the "
    "others are of two kinds, by Eq. 5, or as in the published files with :files at the end (topo2:96:8:2:files). "
    "topo3:4:1:4 has 4 nodes of 24 units, the units of 1 node are fast, row 4."
)
ABOUT = {
    "detect": "Describe this machine: cores, caches, memory. It takes no MACHINE.",
    "show": "Describe the machine of a name or a file: cores, caches, memory, network.",
}


def run_machine(words: list[str]) -> int:
    """The command. Returns the exit status. Raises UsageError, ArgumentError, ArtefactError (a file), OutputError."""
    asked = words[0] if words[:1] in (["detect"], ["show"]) else ""
    usage = {"detect": "tracecut machine detect [options]", "show": "tracecut machine show MACHINE [options]"}
    parser = Parser(
        prog="tracecut machine",
        usage=usage.get(asked, USAGE),
        description=ABOUT.get(
            asked, "Describe this machine, or a model given by name or file: cores, caches, memory, network."
        ),
        epilog=None if asked == "detect" else FORMS,
        allow_abbrev=False,
    )
    hidden = argparse.SUPPRESS
    parser.add_argument(
        "what", nargs="?", default="detect", metavar="detect|show", help=hidden if asked else "default: detect"
    )
    parser.add_argument("machine", nargs="?", metavar="MACHINE", help=hidden if asked == "detect" else MACHINE)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the description to this file, as TOML that you can edit"
    )
    parser.add_argument("--svg", metavar="FILE", help="file for a picture (SVG)")
    parser.add_argument("--json", action="store_true", help="print the description as JSON")
    options = parser.parse_args(words)
    if options.what not in ("detect", "show"):
        raise UsageError(f"{options.what}: detect or show expected", hint=USAGE)
    if (options.what == "show") != (options.machine is not None):
        raise UsageError("show needs a machine" if options.what == "show" else "detect takes no machine", hint=USAGE)
    handle_signals()
    from tracecut.ir.machine.in_words import in_words
    from tracecut.ir.machine.machine import Machine
    from tracecut.support.dataclass_json import to_json

    machine = Machine.named(options.machine) if options.machine is not None else Machine.detect()
    if options.output is not None:
        machine.save(options.output)
    if options.svg is not None:
        from tracecut.report.machine_picture import machine_picture

        write_picture(options.svg, machine_picture(machine))
    if options.json:
        print(json.dumps(to_json(machine), indent=1))
    else:
        print(in_words(machine))
    return 0


def write_picture(path: str, picture: str) -> None:
    """Write a drawing to a file. Raises OutputError."""
    from tracecut.support.files import write_atomic

    text = picture.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    write_atomic(path, lambda file: (file.write(text.encode()), None)[1])
