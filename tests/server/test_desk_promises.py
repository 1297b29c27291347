"""Promising from the officer's page: only what was seen, and every text is only a text."""

import re

import pytest

import holdtrue as ht

from .forms import Forms, promise, send

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7*7 }}{% for x in () %}",
    "' OR 1=1; DROP TABLE holdtrue_events; --",
]


def test_a_promise_from_the_page(world, desk, clf, case):
    row, text = case
    before = world.ledger.counts()["live"]
    sure = promise(desk, text, days="30")
    assert sure.status_code == 200
    assert world.ledger.counts()["live"] == before  # only asked
    done = send(desk, sure.text, "/desk/promise")
    again = send(desk, sure.text, "/desk/promise")  # a second press of the button
    assert (done.status_code, again.status_code) == (303, 303)
    assert done.headers["location"] == again.headers["location"]
    assert world.ledger.counts()["live"] == before + 1
    record = world.ledger.promise(done.headers["location"].rsplit("/", 1)[1]).record
    assert (record.subject, record.factual) == (f"application {row}", world.applicants.rows[row])
    assert record.method["option"] == 1
    assert (record.valid_until - record.issued).days == 30
    assert record.survival["n_models"] == 8
    assert ht.replay(record, clf).same
    page = Forms(desk.get(done.headers["location"]).text)
    assert record.changes in page.words
    letter = desk.get(f"{done.headers['location']}/letter")
    assert letter.text == ht.letters(record)[0].html
    assert "default-src 'none'" in letter.headers["content-security-policy"]
    assert "frame-ancestors 'self'" in letter.headers["content-security-policy"]
    back = f"{done.headers['location']}/fulfil"
    shown = desk.get(done.headers["location"]).text
    assert send(desk, shown, back, decision="7").status_code == 422
    assert send(desk, shown, back, decision="0").status_code == 303
    assert send(desk, shown, back, decision="0").status_code == 409
    assert "It was kept." in desk.get(done.headers["location"]).text
    assert world.ledger.promise(record.id).state == "fulfilled"
    world.ledger.forget(record.subject)
    assert "forgotten" in desk.get(done.headers["location"]).text
    assert desk.get(f"{done.headers['location']}/letter").status_code == 409


def test_a_second_promise_is_asked_about(world, desk, case):
    row, text = case
    subject = f"application {row}"
    first = send(desk, promise(desk, text).text, "/desk/promise").headers["location"].rsplit("/", 1)[1]
    assert "Promised already" in Forms(desk.get(f"/desk/{row}").text).words
    listed = Forms(desk.get("/desk", params={"q": subject}).text).words
    assert f"1 live promise to {subject}" in listed
    sure = promise(desk, text).text
    assert first[:8] in sure
    undecided = send(desk, sure, "/desk/promise")
    assert (undecided.status_code, "say first what becomes" in undecided.text) == (422, True)
    assert send(desk, sure, "/desk/promise", ("instead", "0" * 32)).status_code == 422
    assert world.ledger.live_counts([subject]) == {subject: 1}
    replaced = [send(desk, sure, "/desk/promise", ("instead", first)) for _ in range(2)]  # pressed twice
    assert [answer.status_code for answer in replaced] == [303, 303]
    assert world.ledger.promise(first).state == "superseded"
    assert world.ledger.live_counts([subject]) == {subject: 1}
    beside = send(desk, promise(desk, text).text, "/desk/promise", ("instead", "beside"))
    assert beside.status_code == 303
    assert world.ledger.live_counts([subject]) == {subject: 2}
    world.ledger.set_policy(ht.Policy(most_live=2))
    try:
        full = promise(desk, text).text
        assert "at most 2 live promises to one person" in full
        refused = send(desk, full, "/desk/promise", ("instead", "beside"))
        assert (refused.status_code, "policy refuses" in refused.text) == (409, True)
    finally:
        world.ledger.set_policy(ht.Policy())
    world.ledger.forget(subject)


def test_promises_are_looked_up(world, desk, overseer, refused):
    ids = [
        world.officer.post("/v1/records", json={"subject": f"looked {i}", "person": refused[0]}).json()["id"]
        for i in range(2)
    ]
    world.ledger.fulfil(ids[0], decision=0)
    for client, base in ((desk, "/desk/promises"), (overseer, "/oversight/promises")):

        def look(client=client, base=base, **asked):
            page = Forms(client.get(base, params=asked).text)
            links = [
                a["href"] for t, a in page.attributes if t == "a" and a.get("href", "").startswith(f"{base}/")
            ]
            return [link.rsplit("/", 1)[1].partition("#")[0] for link in links], page.words

        assert set(look(q="LOOKED")[0]) == set(ids)
        assert set(look(q="looked", state="live")[0]) == {ids[1]}
        found, words = look(q=ids[0][:10])
        assert (set(found), "broken" in words) == ({ids[0]}, True)
        assert look(q="looked", until="2020-01-01")[0] == []
        assert client.get(base, params={"since": "yesterday"}).status_code == 422
        assert client.get(base, params={"state": "lost"}).status_code == 422
        assert client.get(base, params={"page": 10**9}).status_code == 200
        assert "looked 1" in Forms(client.get(f"{base}/{ids[1]}").text).words
    for i in range(2):
        world.ledger.forget(f"looked {i}")


def test_only_what_was_seen_is_promised(world, desk, case):
    before = world.ledger.head().seq
    text = case[1]
    first, _ = Forms(text).values("button", "option")
    swapped = f"1:{first.partition(':')[2]}"
    answer = send(desk, text, "/desk/case", ("option", swapped), to="/desk/confirm")
    assert (answer.status_code, "another answer" in answer.text) == (409, True)
    for option in ("", "7:x", "x"):
        assert send(desk, text, "/desk/case", ("option", option), to="/desk/confirm").status_code == 422
    sure = promise(desk, text).text
    assert send(desk, sure, "/desk/promise", id="short").status_code == 422
    assert send(desk, sure, "/desk/promise", days="-1").status_code == 422
    answer = send(desk, sure, "/desk/promise", c0="77")  # another person than the one who was shown
    assert answer.status_code in (409, 422)
    assert world.ledger.head().seq == before


@pytest.mark.parametrize(
    ("field", "wrong"), [("subject", ""), ("subject", "x" * 201), ("days", "soon"), ("days", "0")]
)
def test_an_offer_needs_a_reference_and_an_end(world, desk, case, field, wrong):
    before = world.ledger.head().seq
    answer = promise(desk, case[1], **{field: wrong})
    assert answer.status_code == 200
    assert f'aria-describedby="{field}-error"' in answer.text
    assert world.ledger.head().seq == before


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_only_texts(world, desk, overseer, case, text):
    clean = Forms(case[1]).tags
    page = send(desk, case[1], "/desk/case", subject=text)
    shown = Forms(page.text)
    assert shown.tags == clean  # not one element more
    assert text in shown.words or " ".join(text.split()) in shown.words
    for value in ({"c0": text}, {"m0": text}, {"days": text}):
        answer = send(desk, case[1], "/desk/case", subject="s", **value)
        assert not {"script", "img"} & (set(Forms(answer.text).tags) - set(clean))
        assert "7*7" not in text or "49" not in re.findall(r"\b49\b", Forms(answer.text).words)
    found = Forms(desk.get("/desk", params={"q": text}).text)
    assert found.values("input", "q") == [text]
    assert found.tags.count("script") == 1
    sure = promise(desk, case[1], subject=text)
    done = send(desk, sure.text, "/desk/promise")
    assert done.status_code == 303
    for answer in (sure, desk.get(done.headers["location"]), desk.get(f"{done.headers['location']}/letter")):
        tags = Forms(answer.text).tags
        assert tags.count("script") == (0 if "letter" in str(answer.url) else 1)
        assert "img" not in tags
    assert overseer.get("/oversight").status_code == 200
    assert world.ledger.forget(text) == 1
    assert world.ledger.verify().ok


@pytest.mark.parametrize("text", ["a\r\nSet-Cookie: x=1", "a\nLocation: //evil.example", "\u2028b\x00"])
def test_nothing_gets_into_headers(world, desk, case, text):
    before = world.ledger.head().seq
    for answer in (
        promise(desk, case[1], subject=text),
        send(desk, case[1], "/desk/case", subject=text),
        desk.get("/desk", params={"q": text}),
        desk.get("/desk/promises/" + text.replace("\r", "%0d").replace("\n", "%0a").replace("\x00", "%00")),
        desk.post("/login", data={"key": text}),
    ):
        assert answer.status_code < 500
        assert "x=1" not in answer.headers.get("set-cookie", "")
        assert answer.headers.get("location", "/").startswith("/")
        assert "evil.example" not in str(answer.headers)
    assert world.ledger.head().seq == before
