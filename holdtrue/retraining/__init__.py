"""The same model again: other seeds, rows or tables, as one predictor of many members."""

from holdtrue.retraining._any import retrain
from holdtrue.retraining._classifier import (
    ClassifierWithRecipes,
    ClassifierWithRows,
    TrainedClassifier,
    TrainingData,
)
from holdtrue.retraining._estimators import Refitted
from holdtrue.retraining._finetune import TopLayerStep
from holdtrue.retraining._kinds import SeveralKinds
from holdtrue.retraining._retrain import Layers, Retrained, Vary, retrain_own, start_keys, training_rows
from holdtrue.retraining._retrained import AbstractRetrained
from holdtrue.retraining._trainer import Refit, seeded

__all__ = [
    "AbstractRetrained",
    "ClassifierWithRecipes",
    "ClassifierWithRows",
    "Layers",
    "Refit",
    "Refitted",
    "Retrained",
    "SeveralKinds",
    "TopLayerStep",
    "TrainedClassifier",
    "TrainingData",
    "Vary",
    "retrain",
    "retrain_own",
    "seeded",
    "start_keys",
    "training_rows",
]
