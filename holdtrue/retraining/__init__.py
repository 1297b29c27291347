"""The same model again: other seeds, rows or tables, as one predictor of many members."""

from holdtrue.retraining._classifier import ClassifierWithRows, TrainedClassifier, TrainingData
from holdtrue.retraining._finetune import TopLayerStep
from holdtrue.retraining._refit import refit, seeded
from holdtrue.retraining._retrain import Layers, Retrained, Vary, retrain, start_keys, training_rows

__all__ = [
    "ClassifierWithRows",
    "Layers",
    "Retrained",
    "TopLayerStep",
    "TrainedClassifier",
    "TrainingData",
    "Vary",
    "refit",
    "retrain",
    "seeded",
    "start_keys",
    "training_rows",
]
