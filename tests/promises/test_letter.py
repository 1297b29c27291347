"""Letters say what was recorded, to whom, until when; and templates and values can do no harm."""

import sys
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser

import pytest

from holdtrue.errors import DataError, MissingDependencyError
from holdtrue.promises import letters
from holdtrue.schema import Feature, Schema
from holdtrue.testing._ledger import START, promise_to

pytest.importorskip("jinja2", reason="jinja2 is not installed: pip install 'holdtrue[serve]'")


def options(subject: str, *sentences: str, **changes) -> list:
    method = promise_to("x").method
    return [
        promise_to(subject, changes=s, method=method | {"option": i}, **changes) for i, s in enumerate(sentences)
    ]


def write(records, **how):
    return letters(records, at=START, **how)


class Shown(HTMLParser):
    """What a browser would show, and the tags it would act on."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words, self.tags = [], []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append(tag)


def test_one_option_word_for_word() -> None:
    (letter,) = write(promise_to("application 7"), words={0: "declined", 1: "approved"})
    assert letter.text == (
        "1 January 2026\n"
        "Reference: application 7\n"
        "\n"
        "We have looked at your application, and cannot say yes to it as it is today.\n"
        "Our decision: declined.\n"
        "\n"
        "This would change our answer:\n"
        "\n"
        "1. Raise income from 31,000 to 35,500.\n"
        "\n"
        "If you do this, and everything else in your application stays as it was on 1 January 2026, our answer\n"
        "will be approved.\n"
        "This offer holds until 1 April 2026, 00:00 UTC.\n"
        "\n"
        "If something in your application was written down wrongly, or if you want a person to look at this "
        "decision, please\n"
        "tell us and name the reference above.\n"
    )
    assert str(letter) == letter.text


def test_at_most_three_options_that_differ() -> None:
    records = options("a", "Do A.", "Do B.", "Do A.", "Do C.", "Do D.")
    (letter,) = write(reversed(records))
    assert letter.options == ("Do A.", "Do B.", "Do C.")
    assert "One of them is enough" in letter.text
    assert "2. Do B." in letter.text
    assert "4." not in letter.text
    assert "if you do one of these" in letter.text.lower()
    assert Shown(letter.html).tags.count("li") == 3


def test_a_letter_each_and_the_nearest_end() -> None:
    soon = options("a", "Do A.", valid_until=START + timedelta(days=5))
    records = [*soon, promise_to("b", valid_until=None), *options("a", "Do A.", "Do B.")[1:]]
    first, second = write(records)
    assert (first.subject, second.subject) == ("a", "b")
    assert first.options == ("Do A.", "Do B.")
    assert "holds until 6 January 2026" in first.text
    assert "no end date" in second.text
    assert "yes.\n" in second.text


def test_an_offer_that_has_ended_is_not_made() -> None:
    with pytest.raises(DataError, match="has ended"):
        letters(promise_to("a"))  # which ran out in 2026


def test_what_cannot_be_asked_is_not_asked() -> None:
    for limit in ("fixed", {"direction": "fixed"}):
        with pytest.raises(DataError, match="cannot be asked of this person; got 'income'"):
            write(promise_to("a", restrictions={"income": limit}))
    assert write(promise_to("a", restrictions={"home": "fixed"}))
    income = {"name": "income", "kind": "numeric", "bounds": (0, 1e6)}
    home = Feature(name="home", kind="categorical", levels=("rent", "own"))
    for direction, fits in (("increase", True), ("free", True), ("decrease", False), ("fixed", False)):
        schema = Schema([Feature(**income, direction=direction), home])
        if fits:
            assert write(promise_to("a"), schema=schema)
        else:
            with pytest.raises(DataError, match="cannot be asked"):
                write(promise_to("a"), schema=schema)
    follows = "Raise education from school to degree. As a consequence, income goes from 31,000 to 35,500."
    assert write(promise_to("a", changes=follows, restrictions={"income": "fixed"}))


HOSTILE = (
    "{{ 7 * 7 }}",
    "{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "{{ config }} ${7*7} #{7*7} <%= 7*7 %>",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_values_are_neither_templates_nor_tags(text: str) -> None:
    (letter,) = write(promise_to(text, changes=text), words={0: text, 1: text})
    assert letter.text.count(text) == 4
    assert "49" not in letter.text
    shown = Shown(letter.html)
    assert set(shown.tags) <= {"html", "head", "meta", "title", "style", "body", "p", "br", "ol", "li"}
    assert "".join(shown.words).count(text) == 5  # and in the title


def test_a_value_stays_within_its_line() -> None:
    nasty = "Do A.\n\nWe owe you 5,000.\r\x0b\u2028And more\u202etxet"
    (letter,) = write(promise_to("a", changes=nasty))
    assert letter.options == ("Do A. We owe you 5,000. And more txet",)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ options.__class__.__base__ }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ self._TemplateReference__context }}",
        "{{ lipsum.__globals__['os'] }}",
        "{% set _ = options.append('You owe us 100.') %}{{ options }}",
        "{{ '{0.__class__.__init__.__globals__}'.format(options) }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{% extends 'x' %}",
        "{% for i in range(10000000) %}{{ i }}{% endfor %}",
        "{{ subjekt }}",
        "{{ 1 / 0 }}",
        "{{ options[7] }}",
        "{% if %}",
        "{{",
    ],
)
@pytest.mark.parametrize("html", [False, True])
def test_hostile_and_broken_templates(tmp_path, source: str, html: bool) -> None:
    path = tmp_path / "template"
    path.write_text(source)
    how = {"html_template": path} if html else {"template": path}
    (letter,) = write(promise_to("a"), **how)
    with pytest.raises(DataError, match="template cannot be used") as caught:
        print(letter.html if html else letter.text)
    assert "subject, date, options" in str(caught.value)
    assert "root:" not in str(caught.value)


def test_templates_of_ones_own(tmp_path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("Dear {{ subject }}: {{ options | join(' or ') }} ({{ until or 'always' }})")
    (letter,) = write(options("Zoë", "Do A.", "Do B."), template=path)
    assert letter.text == "Dear Zoë: Do A. or Do B. (1 April 2026, 00:00 UTC)"
    assert "<ol>" in letter.html
    for wrong, words in ((tmp_path / "absent", "cannot be read"), (tmp_path, "cannot be read")):
        with pytest.raises(DataError, match=words):
            print(write(promise_to("a"), template=wrong)[0])
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot be used"):
        print(write(promise_to("a"), template=path)[0])
    path.write_bytes(b"x" * (2 << 20))
    with pytest.raises(DataError, match="too large"):
        print(write(promise_to("a"), template=path)[0])


def test_without_jinja2(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setitem(sys.modules, "jinja2.sandbox", None)
    with pytest.raises(MissingDependencyError, match=r"holdtrue\[serve\]"):
        print(write(promise_to("a"))[0])


def test_the_page_loads_nothing(tmp_path) -> None:
    (letter,) = write(replace(promise_to("a"), survival={"estimate": 0.9}))
    assert "http" not in letter.html
    assert "src=" not in letter.html
    assert not {"script", "link", "img", "iframe"} & set(Shown(letter.html).tags)


def test_a_measured_term_is_told_and_a_reason_is_not() -> None:
    """The least sure of the options speaks for the letter; without a term measured by the past nothing is said."""
    level = {"hold": 0.95, "slack": 0.5, "term": 2, "kept": 0.968}
    survival = {"estimate": 1.0, "holds": True, "level": level}
    sure, less = options("a", "Raise income.", "Lower debt.", survival=survival)
    less = replace(less, survival=survival | {"level": level | {"kept": 0.951}}, reason="the manager's nephew")
    words = "95 of 100 still held after our rules had been renewed twice."
    (letter,) = write([sure, less], words={1: "approved"})
    for text in (letter.text, letter.html):
        assert words in text
        assert "nephew" not in text
        assert "This offer holds until" in text
    assert "fared in the past: 95" in letter.text
    past = [{"period": str(year), "kept": 0.95} for year in (2001, 2002, 2003)]
    dated = replace(sure, survival=survival | {"level": level | {"periods": past}})
    assert "fared in the past, from 2001 to 2003: 96 of 100" in " ".join(write([dated])[0].text.split())
    (letter,) = write([sure, replace(less, survival=None)])
    assert letter.measured is None
    assert "in the past" not in letter.text


NAMED = {"named": [{"text": "Income is too low"}, {"text": "Too many\ninquiries"}], "gap": 0.5}


def test_a_letter_names_the_reasons_beside_the_options() -> None:
    (letter,) = write(promise_to("application 7", reasons=NAMED))
    assert letter.reasons == ("Income is too low", "Too many inquiries")
    reasons = "The main reasons, the weightiest first:\n\n- Income is too low\n- Too many inquiries\n\n"
    assert reasons + "This would change our answer:\n" in letter.text
    assert Shown(letter.html).tags.count("li") == 3


def test_a_letter_says_which_reasons_no_option_changes() -> None:
    """Told "too many inquiries" and offered "lower the loan", a person deserves to know why."""
    named = {
        "named": [{"text": "Too many inquiries", "in_recourse": False}, {"text": "Loan", "in_recourse": True}]
    }
    (letter,) = write(promise_to("application 7", reasons=named))
    assert letter.unchanged == ("Too many inquiries",)
    told = "nobody can be asked to change them: Too many inquiries."
    assert told in letter.text
    assert told in letter.html
    (letter,) = write(promise_to("application 7", reasons=NAMED))  # whether it is changed is not known
    assert letter.unchanged == ()
    assert "Left as they are" not in letter.text


def test_a_letter_has_four_reasons_at_most_and_shows_them_as_text() -> None:
    named = {"named": [{"text": f"<b>reason {i}</b>"} for i in range(6)]}
    (letter,) = write(promise_to("application 7", reasons=named))
    assert len(letter.reasons) == 4
    assert "<b>" not in letter.html


def test_reasons_of_a_record_are_checked() -> None:
    for wrong in ({}, {"named": "x"}, {"named": [{"code": 1}]}, []):
        with pytest.raises(DataError, match="`reasons` must be"):
            promise_to("application 7", reasons=wrong)
