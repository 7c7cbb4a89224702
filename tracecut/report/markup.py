"""HTML by construction: everything that is not markup is escaped, and elements are always closed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from html import escape

# Characters that browsers must not interpret: controls, lone surrogates, and bidirectional controls, with which a name
# could change how the line around it reads.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
VOID = frozenset({"meta", "br", "hr", "wbr"})
BLOCK = frozenset(
    """section header footer main nav div p h1 h2 h3 dl dt dd table thead tbody tr td th caption ul li pre figure
    figcaption details summary svg g rect line text path title meta""".split()
)


class Html(str):
    """Markup, which needs no escaping."""

    __slots__ = ()


Content = str | None
Attribute = str | int | float | None


def visible(text: str) -> str:
    """The text with invisible and bidirectional control characters written as ‹U+202E›."""
    return UNSEEN.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text)


def clip(text: str, limit: int) -> str:
    """At most `limit` characters: the middle of a longer text is left out, since names differ at their ends."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def markup(content: str) -> Html:
    """The content as markup: unchanged if it is, escaped if it is text."""
    return content if isinstance(content, Html) else Html(escape(visible(content), quote=False))


def join(*contents: Content) -> Html:
    """Several contents, concatenated; None is empty."""
    return Html("".join(markup(content) for content in contents if content is not None))


def el(name: str, *contents: Content, **attributes: Attribute) -> Html:
    """One element.

    Args:
        name: its tag.
        contents: text is escaped, Html is not, None is empty.
        attributes: values are escaped; None leaves the attribute out. `cls` is `class`, an underscore is a hyphen.
    """
    opened = "".join(
        f' {"class" if key == "cls" else key.replace("_", "-")}="{escape(visible(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    end = "\n" if name in BLOCK else ""
    if name in VOID:
        return Html(f"<{name}{opened}>{end}")
    return Html(f"<{name}{opened}>{join(*contents)}</{name}>{end}")


def user(text: str, limit: int = 200) -> Html:
    """A string of the user's program: clipped, and isolated so that it cannot change the direction of the text around
    it."""
    return el("bdi", clip(visible(text), limit))


def command(words: Sequence[str], limit: int = 1200) -> Html:
    """A command line, quoted for a shell, with line breaks only between its arguments."""
    line = clip(visible(shlex.join(words)), limit)
    return el("code", *(part for word in line.split(" ") for part in (el("bdi", word, cls="word"), Html(" "))))


def table(
    head: Iterable[str], body: Iterable[Html], words: tuple[str, ...] = ("",), extra: tuple[str, ...] = ()
) -> Html:
    """A table that scrolls by itself where the screen is narrow.

    The columns in `words` are aligned to the left, those in `extra` are left out on a narrow screen.
    """
    kinds = (
        (name, " ".join(kind for kind, names in (("words", words), ("extra", extra)) if name in names)) for name in head
    )
    cells = (el("th", name, scope="col", cls=kind or None) for name, kind in kinds)
    return el("div", el("table", el("thead", el("tr", *cells)), el("tbody", *body)), cls="scroll", tabindex="0")
