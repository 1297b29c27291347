# ruff: noqa: E501  (what is put in is easier to read in long lines)
"""Bytes that were damaged, and texts that want to be obeyed."""

import random
import string

MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00", b"\x1b[2J", b"\r", b"\xc3\x28", b"\xed\xa0\x80")
WORDS = (
    b"inf", b"-inf", b"nan", b"1e999", b"-1e999", b"9" * 40, b"-" + b"9" * 400, b"18446744073709551616", b"0x1f",
    b"2026-02-30", b"01/02/03", b"12:61", b"True", b"NULL", b"None", b"''", b'"', b'""', b",", b";", b"\t", b"\n",
    b"{}", b"[]", b"null", b"true", b"!!python/object/apply:os.system ['true']", b"&a [*a]", b"<<: *a", b"%YAML 9",
    b"1_000", b"\xd9\xa3", b"1,5", b"$1", b"(missing)", b"=1+1", b"@SUM(1)", b"\xe2\x80\xae",
)  # fmt: skip


def damaged(right: bytes, rng: random.Random) -> bytes:
    """Bytes with one to five things done to them: flipped, cut, doubled, put in, put elsewhere, coded otherwise."""
    out = bytearray(right)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(len(out) + 1)
        how = rng.randrange(9)
        if how == 0 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif how == 1:
            del out[at:]
        elif how == 2:
            del out[at : at + rng.randrange(1, 40)]
        elif how == 3:
            out[at:at] = rng.choice(WORDS)
        elif how == 4:
            out[at:at] = rng.choice(MARKS)
        elif how == 5:
            out += bytes(rng.randrange(256) for _ in range(rng.randrange(1, 60)))
        elif how == 6:
            out[at:at] = out[at : at + rng.randrange(1, 80)]
        elif how == 7:
            out[0:0] = rng.choice(MARKS[:3])
        else:
            lines = bytes(out).split(b"\n")
            rng.shuffle(lines)
            out = bytearray(b"\n".join(lines))
    if rng.random() < 0.03:
        text = bytes(out).decode("utf-8", "replace")
        return text.encode(rng.choice(("utf-16", "utf-32", "latin-1", "cp1252", "utf-7")), "replace")
    return bytes(out)


MARKUP = "<img src=x onerror=alert(7)>"
TURNED = "\u202e"


def hostile(rng: random.Random) -> str:
    """A text that is obeyed where it is not taken for a text."""
    begin = rng.choice(
        (
            MARKUP, "<script>alert(7)</script>", '"><svg onload=alert(7)>', "javascript:alert(7)", "{{ 7919*7907 }}",
            "{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}", "${7919*7907}",
            "#{7919*7907}", "%(subject)s%n", "{subject.__class__}", "\x1b[2J\x1b]0;owned\x07", "\x9b31m",
            "\r\nSet-Cookie: a=b", "\u2028line", f"{TURNED}evil", "=HYPERLINK(\"http://x\";\"y\")", "+1+1", "-2+3",
            "@SUM(1+1)", "|calc", "'; DROP TABLE holdtrue_events; --", "../../etc/passwd", "\x00", "[bold red]x[/]",
            "[link=file:///]x[/link]", "`id`", "$(id)", "*[x](http://x)*",
        )
    )  # fmt: skip
    letters = "".join(rng.choice(string.ascii_letters + " ") for _ in range(rng.randrange(6)))
    return rng.choice(
        (begin, letters + begin, begin + letters, begin + rng.choice((MARKUP, "\x1b[0m", "{{ 7919*7907 }}")))
    )


WORKED_OUT = str(7919 * 7907)
STEERING = [chr(c) for c in (*range(9), *range(11, 32), *range(127, 160))] + list(
    "\u202a\u202b\u202d\u202e\u2066\u2067\u2068"
)


def obeyed(text: str, *, html: bool = False, lines: bool = True) -> str | None:
    """How a text that was written for people would be more than a text; None where it would not."""
    if WORKED_OUT in text or "<class '" in text:
        return "a template was worked out"
    if not lines and any(c in text for c in "\n\r"):
        return "a new line"
    steers = [c for c in STEERING if c in text]
    if steers:
        return f"it steers a terminal ({steers[0]!r})"
    if html and any(tag in text for tag in (MARKUP, "<script>alert", "<svg onload")):
        return "it is markup"
    return None
