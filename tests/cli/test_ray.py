"""Recourse, retraining and papers on a Ray cluster of two nodes, one of which is lost."""

import json
import logging

import numpy as np
import pytest

import holdtrue as ht
from holdtrue.batch import RayExecutor, _ray
from holdtrue.runs import _parts

pytest.importorskip("ray", reason="ray is not installed; pip install 'holdtrue[ray]' to run it")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    import os

    import ray
    from ray.cluster_utils import Cluster

    kept = {name: os.environ.get(name) for name in ("RAY_USAGE_STATS_ENABLED", "XDG_CACHE_HOME")}
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))  # workers share what they compile
    memory = {"object_store_memory": 100_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **memory})
    cluster.add_node(num_cpus=1, **memory)
    cluster.doomed = cluster.add_node(num_cpus=1, **memory)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()
    for name, value in kept.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def stop_after(monkeypatch, n, action):
    """Do something once, when so many chunks are kept."""
    kept, real = [], _parts.Parts.keep

    def keep(self, number, *rest):
        real(self, number, *rest)
        kept.append(number)
        if len(kept) == n:
            action()

    monkeypatch.setattr(_parts.Parts, "keep", keep)
    return kept


def all_at_once(monkeypatch):
    """Nobody begins before every worker is there: one that is lost while it starts is only started again."""
    there, hand_out = [], _ray._Pool._hand_out

    def patient(self, tasks, more):
        if not there and self.starting:
            return more
        there.append(True)
        return hand_out(self, tasks, more)

    monkeypatch.setattr(_ray._Pool, "_hand_out", patient)


def promised(place):
    with ht.Ledger(place) as ledger:
        return sorted((p.record.subject, p.record.changes) for batch in ledger.live() for p in batch)


def test_a_lost_node_loses_nothing(run, cluster, model, parquet, tmp_path, monkeypatch, caplog):
    for name in ("here", "there"):
        ht.Ledger.create(tmp_path / f"{name}.db").close()

    def ask(name, *more):
        place = ("--out", tmp_path / f"{name}.parquet", "--ledger", tmp_path / f"{name}.db", "--subject", "who")
        return json.loads(run("recourse", model, parquet, *place, "--chunk-rows", 10, "--json", *more).stdout)

    here = ask("here")
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        all_at_once(patch)
        kept = stop_after(patch, 4, lambda: cluster.remove_node(cluster.doomed, allow_graceful=False))
        there = ask("there", "--ray", "auto")
    assert "a worker was lost" in caplog.text
    assert sorted(kept) == list(range(30))  # every chunk once
    assert {k: v for k, v in here.items() if k not in ("out", "seconds")}.items() <= there.items()
    assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()
    assert promised(tmp_path / "there.db") == promised(tmp_path / "here.db")
    assert len(promised(tmp_path / "here.db")) == here["promises"] > 0
    assert not (tmp_path / "there.parquet.parts").exists()


def test_a_run_that_ended_there_goes_on_here(run, cluster, model, bank, tmp_path):
    frame = bank.X[:100].astype(object)
    frame.loc[95, "price"] = "lots"
    frame.to_csv(tmp_path / "t.csv", index=False)
    asked = ("recourse", model, tmp_path / "t.csv", "--chunk-rows", 20, "--out")
    there = run(*asked, tmp_path / "o.csv", "--ray", "auto", code=2).stderr
    here = run(*asked, tmp_path / "p.csv", code=2).stderr
    assert "'lots'" in here
    assert (
        there.partition(" rows are finished")[0].rpartition(" ")[0]
        == (here.partition(" rows are finished")[0].rpartition(" ")[0])
    )  # the same words, up to how many rows were finished
    kept = [p.name for p in (tmp_path / "o.csv.parts").glob("part-*.json")]
    assert kept
    for name in ("o.csv", "p.csv"):
        run(*asked, tmp_path / name, "--resume", "--bad-rows", "report")
    assert (tmp_path / "o.csv").read_bytes() == (tmp_path / "p.csv").read_bytes()
    assert (tmp_path / "o.csv").read_text().count("INVALID_INPUT") == 1


def test_retrainings_are_the_same_models(cluster, bank):
    regime = ht.StandardTraining(n_epochs=3, step_size=0.01)
    clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), regime=regime, random_state=0)
    clf.fit(bank.X, bank.y)
    told = []
    there, here = (
        ht.retrain(
            clf, n=5, vary="bootstrap", random_state=np.random.RandomState(3), on_model=told.append, executor=who
        )
        for who in (RayExecutor("auto"), None)
    )
    assert there.digests() == here.digests()
    assert there.vary == here.vary
    assert told.count(5) == 2


def test_options_that_need_a_cluster(run, model, parquet, tmp_path):
    text = run("recourse", model, parquet, "--out", tmp_path / "o.csv", "--ray-cores", 2, code=2).stderr
    assert "--ray-cores: is for workers of a cluster; got no --ray" in text
    assert (
        "--ray: chunks are finished in any order" in run("recourse", model, parquet, "--ray", "x", code=2).stderr
    )
