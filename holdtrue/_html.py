"""Tables as a notebook shows them."""

import html
import re
from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A table of texts, every one of them escaped."""
    head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>" for row in rows)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def paragraph(text: str, *, code: bool = False) -> str:
    """A paragraph of text, escaped; with `code`, what stands in backticks is set as code."""
    body = html.escape(text)
    if code:
        body = re.sub("`([^`]+)`", r"<code>\1</code>", body)
    return f"<p>{body}</p>"
