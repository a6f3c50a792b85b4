"""Elements as text; the one place where a page's text becomes HTML.

    >>> element("td", "a<b \\x1b[2J", title='"x"')
    '<td title="&quot;x&quot;">a&lt;b \\\\x1b[2J</td>'
    >>> element("p", Markup("<b>bold</b>"), role="status", hidden=True)
    '<p role="status" hidden><b>bold</b></p>'
"""

from __future__ import annotations

from gputopo.reports.picture.svg import escape


class Markup(str):
    """HTML made here already; every other string is foreign and is escaped."""

    __slots__ = ()


def element(tag: str, *inside: str, **attributes: str | bool) -> Markup:
    """`class_`, `for_` for Python's own words, `aria_label` for `aria-label`; True: no value, False: not at all."""
    said = "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for name, value in attributes.items()
        if value is not False and value != ""
    )
    return Markup(f"<{tag}{said}>{join(*inside)}</{tag}>")


def join(*parts: str) -> Markup:
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in parts))
