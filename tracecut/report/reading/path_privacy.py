"""Paths in reports: relative to the working directory, or only the file name.

Reports are passed on to others. The folders above a project may name its owner, the machine or the employer, so they
are not shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

# An absolute path in a sentence or an argument: at least two parts, not the tail of a word or of a relative path.
EMBEDDED = re.compile(r"(?<![\w.~*/\\-])(?:~[\w.-]*)?(?:/[^\s/:;,=\"'()<>]+){2,}/?")


@dataclass(frozen=True)
class Root:
    """The working directory. Paths below it are shown relative to it."""

    folder: str

    def path(self, path: str) -> str:
        """A path as it may be shown."""
        if not path.startswith(("/", "~")) and ".." not in PurePosixPath(path).parts:
            return path
        pure = PurePosixPath(path)
        if self.folder and pure.is_relative_to(self.folder):
            return str(pure.relative_to(self.folder))
        return pure.name or path

    def text(self, text: str) -> str:
        """A sentence or an argument in which absolute paths may occur."""
        return EMBEDDED.sub(lambda found: self.path(found[0]), text)

    def argument(self, argument: str) -> str:
        """One argument of a command line: a path, or something with a path in it."""
        return self.path(argument) if argument.startswith(("/", "~/", "../")) else self.text(argument)
