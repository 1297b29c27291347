"""Rows of arrays that belong to people: their places, and which are alike."""

import numpy as np


def place(person: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Which place each value has among the person's own, the least first."""
    order = np.lexsort((value, person))
    first = np.flatnonzero(np.diff(person[order], prepend=-1))
    place = np.empty(len(order), int)
    place[order] = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    return place


def first_of_each(person: np.ndarray, value: np.ndarray, level: np.ndarray) -> np.ndarray:
    """The first of every distinct point."""
    parts = [person[:, None].astype(np.int32), np.ascontiguousarray(value).view(np.int32), level.astype(np.int32)]
    rows = np.ascontiguousarray(np.concatenate(parts, axis=1))
    keys = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).ravel()
    return np.sort(np.unique(keys, return_index=True)[1])


def under(value: np.ndarray) -> np.ndarray:
    return (value - 1e-6 * np.maximum(1.0, np.abs(value))).astype(np.float32)
