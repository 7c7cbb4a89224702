"""What a report shows of a path: where it lies below the working directory, or its name alone.

A report is mailed to people. The folders above a project name its owner, the machine and the employer, so they stay
at home.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

# An absolute path inside a sentence or an argument: two parts at least, not the tail of a word or of a relative path.
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
