# %% [markdown]
# # XGBoost that holds
#
# A boosted model refuses people. This notebook finds what each of them could do, in a way that the model trained again
# accepts too, draws it, and writes the letter.

# %%
import numpy as np
from xgboost import XGBClassifier

import holdtrue as ht

bank = ht.datasets.load("loanapp").subset(range(700))  # 700 mortgage applications, part of holdtrue
bank

# %% [markdown]
# The schema says what each column is and how a person may change it. What is `protected` is never asked to change, and
# never a reason.

# %%
bank.schema

# %% [markdown]
# The model is yours, as it is.

# %%
model = XGBClassifier(n_estimators=20, max_depth=3, learning_rate=0.3, random_state=0).fit(bank.X, bank.y)
refused = bank.X[model.predict(bank.X) == 0]
print(f"{len(refused)} of {len(bank.X)} are refused.")

# %% [markdown]
# Train it again on resampled rows: half of these models take part in the search, the others judge what it finds.

# %%
again = ht.retrain(model, bank.X, bank.y, n=16, vary="bootstrap", schema=bank.schema, random_state=0)
plan = ht.recourse(model, refused[:12], bank.schema, reference=bank.X, hold=0.9, guides=again)
plan

# %%
print(plan.holding())

# %% [markdown]
# Every point is a recourse: what it costs, and how many judges accept it.

# %%
plan.plot()

# %% [markdown]
# One person: how the chance of a yes rises with one change after the other, and what each change is. A tree's answer
# moves in steps.

# %%
one = plan.take(np.flatnonzero(plan.found & plan.held.holds)[:1])
print(one.changes()[0])
print("It asks for", one.effort()[0] + ".")
one.plot()

# %% [markdown]
# And what the person receives.

# %%
records = ht.records(one, ["application 17"], valid_for=90)
ht.letters(records, words={0: "declined", 1: "approved"})[0]
