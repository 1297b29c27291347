"""The officer's page, without a browser: what is shown is the classifier's, what is typed is checked."""

import contextlib
import re
import threading

import jax
import pytest

from holdtrue.server import KeyRing, create_app

from .forms import Forms, enter, send


@contextlib.contextmanager
def compilations():
    """What jax compiles meanwhile, in any thread."""
    seen, watching = [], True

    def note(event, *_, **__):
        if watching and event.endswith("backend_compile_duration"):
            seen.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    yield seen
    watching = False


def test_applicants_are_found(world, desk, clf, bank):
    page = Forms(desk.get("/desk").text)
    n = int((clf.predict(bank.X) == 0).sum())
    assert f"{n} applicants to whom the model says no" in page.words
    assert page.tags.count("tr") == 26
    page = Forms(desk.get("/desk", params={"q": "APPLICATION 7", "all": "true"}).text)
    assert "11 applicants" in page.words
    assert "0 applicants" in Forms(desk.get("/desk", params={"q": "nobody"}).text).words
    assert desk.get("/desk", params={"page": 10**9}).status_code == 200
    assert desk.get("/desk/400").status_code == 404


def test_the_page_shows_what_the_interface_says(world, case):
    row, text = case
    answer = world.officer.post(
        "/v1/recourse", json={"people": [world.applicants.rows[row]], "options": 2}
    ).json()["answers"][0]
    words = Forms(text).words
    assert "The answer is no." in words
    assert f"The chance of a yes is {100 * answer['probability']:.1f}%" in words
    for option in answer["options"]:
        assert f"Asks for {option['effort']}" in words
        yes = round(8 * option["survival"]["estimate"])
        assert f"{yes} of 8 retrained models accept it ({100 * option['survival']['estimate']:.1f}%)" in words
        assert f"{100 * option['probability']:.1f}%" in words
    ordered = sorted(answer["options"], key=lambda option: option["cost"])  # by what they ask of the person
    titles = [world.service.schema[name].title for option in ordered for name in option["changed"]]
    assert [a["aria-label"] for _, a in Forms(text).attributes if a.get("name") == "fix"] == [
        f"Not to be changed: {title}" for title in titles
    ]


def test_the_path_is_the_models(world, case):
    """Every point of the picture is a person whom the model was asked about; the last is the recourse."""
    from holdtrue.server.pages._chart import ROWS, paths

    row = world.applicants.rows[case[0]]
    options = world.officer.post("/v1/recourse", json={"people": [row], "options": 2}).json()["answers"][0][
        "options"
    ]
    drawn = paths(world.service, row, options)
    for option, path in zip(options, drawn, strict=True):
        assert path.last == pytest.approx(option["probability"], abs=1e-6)
        assert len(path.marks) == len(option["changed"]) + 1
        assert path.marks[-1][1] < path.need < path.marks[0][1]
        assert path.line.count(" ") < ROWS
    assert paths(world.service, row, []) == []


def test_a_restriction_is_heeded_and_nothing_is_compiled(world, desk, case):
    """The feasible set of a person is data: another restriction is another number, not another program."""
    row, text = case
    fixed = Forms(text).values("button", "fix")[0]
    name = world.service.schema.names[int(fixed)]
    with compilations() as seen:
        thread = threading.Thread(target=lambda: jax.jit(lambda x: x + 4711)(jax.numpy.arange(7)))
        thread.start()
        thread.join()
    assert seen  # what is compiled is seen, in whatever thread
    with compilations() as seen:
        page = send(desk, text, "/desk/case", ("fix", fixed))
        for i in range(len(world.service.schema.names)):
            assert send(desk, page.text, "/desk/case", ("fix", str(i))).status_code == 200
    assert seen == []
    answer = world.officer.post(
        "/v1/recourse",
        json={"people": [world.applicants.rows[row]], "options": 2, "restrictions": [{name: "fixed"}]},
    ).json()["answers"][0]
    shown = Forms(page.text)
    assert fixed not in shown.values("button", "fix")
    assert f"m{fixed}" in [k for k, v in shown.forms["/desk/case"] if v == "fixed"]
    for option in answer["options"]:
        assert f"Asks for {option['effort']}" in shown.words
    freed = Forms(send(desk, page.text, "/desk/case", ("free", fixed)).text)
    assert fixed in freed.values("button", "fix")


def test_when_nothing_may_change_the_page_says_so(desk, case):
    page = case[1]
    fixed = {k: "fixed" for k, _ in Forms(page).forms["/desk/case"] if re.fullmatch(r"m\d+", k)}
    words = Forms(send(desk, page, "/desk/case", **fixed).text).words
    assert "No way to a yes was found" in words
    assert "Take back a restriction of this person's" in words


def test_levels_can_be_barred(world, desk, clf, rows):
    """A category that may go two ways and is not to take one of them takes the other, or none."""
    schema = world.service.schema
    i = schema.names.index("cons")
    row = next(r for r, row in enumerate(rows) if row["cons"] in (3, 5, 6))
    page = desk.get(f"/desk/{row}").text
    asked = [(f"x{i}", "0")]  # not to level 1
    fields = dict(Forms(send(desk, page, "/desk/case", *asked).text).forms["/desk/case"])
    assert fields[f"x{i}"] == "0"
    barred = send(desk, page, "/desk/case", ("bar", f"{i}:1")).text
    assert ("1", True) in [
        (a["value"], "checked" in a) for _, a in Forms(barred).attributes if a.get("name") == f"x{i}"
    ]
    assert "bar" not in Forms(send(desk, page, "/desk/case", ("bar", f"{i}:99")).text).forms["/desk/case"]
    assert send(desk, page, "/desk/case", ("fix", "9" * 5000)).status_code == 422


@pytest.mark.parametrize(
    ("typed", "reason"),
    [("", "must be filled in"), ("a lot", "must be a number"), ("nan", "must be finite"), ("1e300", "too far")],
)
def test_what_cannot_be_used_is_said_beside_the_field(desk, case, typed, reason):
    page = send(desk, case[1], "/desk/case", c0=typed)
    assert page.status_code == 422
    assert reason in Forms(page.text).words
    if reason != "too far":
        assert 'id="c0" name="c0" value="' + typed + '"' in page.text
        assert 'aria-describedby="e0"' in page.text


def test_what_is_protected_is_neither_shown_nor_sent_nor_taken(world, desk, case, bank):
    """The model is told what the list says of a person, whatever a form says of it."""
    row, text = case
    schema, page = world.service.schema, Forms(case[1])
    hidden = [i for i, feature in enumerate(schema) if feature.protected]
    assert [schema.names[i] for i in hidden] == ["married", "male", "black", "hispan"]
    fields = dict(page.forms["/desk/case"])
    for i in hidden:
        assert f"c{i}" not in fields
        assert f">{schema[schema.names[i]].title}<" not in text
    told = page.words.split("The chance of a yes is ")[1].split()[0]
    flipped = {f"c{i}": "1" if world.applicants.rows[row][schema.names[i]] == 0 else "0" for i in hidden}
    again = send(desk, text, "/desk/case", *flipped.items())
    assert f"The chance of a yes is {told}" in Forms(again.text).words
    new = desk.get("/desk/new")
    assert (new.status_code, "--show-protected" in new.text) == (404, True)
    assert "/desk/new" not in desk.get("/desk").text
    assert send(desk, text, "/desk/case", without=("row",)).status_code == 422
    assert send(desk, text, "/desk/case", row="99999").status_code == 422


@pytest.fixture(scope="module")
def open_desk(world):
    """The desk of an owner who shows what is protected."""
    app = create_app(world.service, KeyRing(world.keys), applicants=world.applicants, show_protected=True)
    return enter(app, world.tokens["officer"])


def test_the_owner_may_show_what_is_protected(open_desk, case):
    page = Forms(open_desk.get(f"/desk/{case[0]}").text)
    assert "Hispanic" in page.words
    assert len([k for k, _ in page.forms["/desk/case"] if re.fullmatch(r"c\d+", k)]) == 21


def test_a_blank_form(open_desk, rows, world, clf, bank):
    desk = open_desk
    page = desk.get("/desk/new").text
    values = Forms(page).forms["/desk/case"]
    assert all(v == "" for k, v in values if re.fullmatch(r"c\d+", k))
    approved = next(i for i, label in enumerate(clf.predict(bank.X)) if label == 1)
    filled = {
        k: v for k, v in Forms(desk.get(f"/desk/{approved}").text).forms["/desk/case"] if k[0] == "c" != "csrf"
    }
    filled.pop("csrf")
    words = Forms(send(desk, page, "/desk/case", **filled).text).words
    assert "The answer is yes." in words
