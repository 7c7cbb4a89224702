"""The entry point of the command line, and of `python -m tracecut`.

Until the modules behind it are imported there is nothing to tidy up: a Ctrl-C ends the process as the system does it,
without a word. So nothing stands here before that is said, and nothing is imported on the way that takes time.
"""

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def main(argv: "Sequence[str] | None" = None) -> "NoReturn":
    """See `tracecut.cli.main`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    import sys

    if argv is None and sys.argv[1:2] == ["compile-recorded"]:
        from tracecut.cli.compiler import run_compiler

        run_compiler(sys.argv[2:])
    from tracecut.cli.main import main

    main(argv)


if __name__ == "__main__":
    main()
