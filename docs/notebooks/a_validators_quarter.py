# %% [markdown]
# # A validator's quarter
#
# In January a model is released and people are told what would change their answer. In April the next model is ready.
# Does it keep what was promised? Whom would it break, and what would it take to keep all of it?

# %%
import holdtrue as ht

bank = ht.datasets.load("loanapp")


def trained(rows, seed, **more):
    return ht.RecourseClassifier(
        schema=bank.schema,
        model=ht.Linear(),
        regime=ht.StandardTraining(n_epochs=10, class_weight="balanced"),
        method=ht.Wachter(n_steps=150),
        n_guides=5,
        random_state=seed,
        **more,
    ).fit(bank.X[rows], bank.y[rows])


january = trained(slice(0, 1000), 0, hold=0.8)
print(january.method_.level_)

# %% [markdown]
# ## January: promises
#
# Only what is known to hold is promised; the rest would need a written reason.

# %%
refused = bank.X[january.predict(bank.X) == 0][:60]
plan = january.recourse(refused)
ledger = ht.Ledger.create("promises.db")
keys = [f"application {i}" for i in refused.index]
made = ht.promise(plan, keys, ledger, valid_for=180, model_version="january", only_holding=True)
print(f"{len(made)} of {int(plan.found.sum())} recourses hold and are promised.")
ledger.counts()

# %% [markdown]
# The ledger may also say what is promised at all: here one live promise to a person.

# %%
ledger.set_policy(ht.Policy(most_live=1))
print(ledger.policy())
promise, *_ = ledger.find("application", state="live", n=1)[0]
ht.letters(promise.record, words={0: "declined", 1: "approved"})[0]

# %% [markdown]
# ## April: the gate
#
# The next model learned from other rows. It is asked about every live promise before it decides about anybody.

# %%
april = trained(slice(500, 1500), 1, hold=None)
rows = {"labelled": (bank.X[1500:], bank.y[1500:]), "max_broken": 0.02, "alternatives": 0}
ht.gate(april, ledger, group="male", **rows)

# %% [markdown]
# What holds was promised, and this is what that was for: of the cheapest recourse for the same people, which nobody
# was promised, the same model would accept less.

# %%
cheapest = january.recourse(refused, hold=None)
for name, told in {"cheapest": cheapest, "promised": plan.take(plan.held.holds)}.items():
    accepted = april.predict(told.recourse) == bank.favourable
    print(f"{name}: April accepts {int(accepted[told.found].sum())} of {int(told.found.sum())}")

# %% [markdown]
# A retraining is what guides and judges know of. A new rule is not: with the same model and a higher threshold the
# gate says how much of January's word would be broken, for whom, and what keeping it would take.

# %%
stricter = trained(slice(500, 1500), 1, hold=None, threshold=0.65)
report = ht.gate(stricter, ledger, group="male", **rows)
report

# %% [markdown]
# Each broken promise is named by its id; `holdtrue gate --cases` writes what each person was told and could do now.

# %%
for case in report.cases[:5]:
    record = ledger.promise(case["id"]).record
    print(f"{record.subject}: {record.changes}")

# %% [markdown]
# ## The evidence
#
# People come back, and what was decided is written down. The chain shows that nothing was rewritten.

# %%
for record in made[:3]:
    ledger.fulfil(record.id, decision=1, actual=record.recourse)
print(ledger.counts())
print(ledger.verify(ledger.head()))
ledger.close()
