"""ONNX graphs, read operator by operator: columns first, then layers, or trees.

A value of the graph is a constant, a list of the schema's columns, an affine function of some layers' units, or an
ensemble of trees. Every operator of the table makes one of these from others; rows are one axis that nobody names.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from holdtrue._types import JsonObject
from holdtrue.encoding import Encoder
from holdtrue.models._base import AbstractModel
from holdtrue.models.adapters._columns import Column, NotUnderstood
from holdtrue.models.adapters._grow import grow
from holdtrue.models.adapters._layers import Front, Head, chain
from holdtrue.models.adapters._onnx_operators import OPERATORS
from holdtrue.models.adapters._onnx_values import Attributes, Dense, Trees, cast, dense
from holdtrue.models.adapters._outputs import Outputs
from holdtrue.schema import Table


@dataclass(frozen=True)
class Node:
    """One operator: its name, the names of what it reads and gives, and its attributes."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: Attributes


@dataclass(frozen=True)
class Graph:
    """A graph without its protobuf: nodes by the name of what they give, constants, types of the inputs."""

    nodes: dict[str, Node]
    constants: dict[str, np.ndarray]
    inputs: dict[str, int]

    def before(self, name: str) -> list[Node]:
        """Nodes that a value depends on, the nearest first."""
        found: dict[int, Node] = {}
        waiting = [name]
        while waiting:
            node = self.nodes.get(waiting.pop())
            if node is not None and id(node) not in found:
                found[id(node)] = node
                waiting += node.inputs
        return list(found.values())

    def read(self, name: str, columns: list[Column]) -> Any:
        """Value of a name, as one of the kinds above; raises `NotUnderstood`."""
        values: JsonObject = {key: np.asarray(value) for key, value in self.constants.items()}
        values |= _inputs(self.inputs, columns)
        stack = [name]
        while stack:  # no recursion: graphs are deep
            node = self.nodes.get(stack[-1])
            if stack[-1] in values:
                stack.pop()
                continue
            if node is None:
                raise NotUnderstood(f"the value {stack[-1]!r}")
            missing = [part for part in node.inputs if part and part not in values]
            if missing:
                stack += missing
                continue
            if node.op not in OPERATORS:
                raise NotUnderstood(f"the ONNX operator {node.op}")
            values[stack.pop()] = OPERATORS[node.op](
                [values[part] if part else None for part in node.inputs], node.attributes
            )
        return values[name]


def as_model(
    value: Any, outputs: Outputs, encoder: Encoder, table: Table
) -> tuple[AbstractModel, dict[str, np.ndarray]]:
    """Return the model that a search asks for a value of the graph, and where its trees split."""
    if isinstance(value, Trees):
        if value.outputs != outputs:
            raise NotUnderstood(f"{outputs} from trees that give {value.outputs}")
        return grow(value.trees, value.columns, value.comparison, value.sums, encoder, table)
    found = dense(value)
    found, head = _logits(found, outputs)
    front = Front(list(found.columns), encoder)
    return chain(front, [*found.layers, (found.weight, found.bias)], head, max(2, len(found.bias))), {}


def _logits(v: Dense, outputs: Outputs) -> tuple[Dense, Head]:
    """Undo what turns logits into probabilities; where it is not known, take the logarithm."""
    head: Head = "binary" if len(v.bias) == 1 else "logits"
    if outputs == "logits":
        return v, head
    if outputs == "log_probabilities":
        if v.last == "log":
            v = v.before()
        elif len(v.bias) == 1:
            raise NotUnderstood("one logarithm of a probability")
        else:
            return v, head
    if v.last == "l1" and v.before().last in ("softmax", "logistic"):
        v = v.before()  # scales all classes alike
    if v.last == "softmax":
        return v.before(), "logits"
    if v.last == "logistic":
        z = v.before()
        if len(z.bias) == 2 and np.array_equal(z.weight[0], -z.weight[1]) and z.bias[0] == -z.bias[1]:
            return z.times(np.array([[0.0, 1.0]])), "binary"
        return z, "binary" if len(z.bias) == 1 else "one_vs_rest"
    pair = np.array([[-1.0], [1.0]])
    if v.layers and getattr(v.layers[-1], "name", "") == "logistic" and v.weight.shape == (2, 1):
        for sign in (1.0, -1.0):
            if np.array_equal(v.weight, sign * pair) and np.array_equal(v.bias, [sign > 0, sign < 0]):
                return v.before().times(np.array([[sign]])), "binary"
    if len(v.bias) == 1:
        v = v.times(pair, np.array([1.0, 0.0]))
    return v.then("log"), "logits"


def _inputs(types: dict[str, int], columns: list[Column]) -> JsonObject:
    """Columns of each input: all of them in one, or one each."""
    named = {column.name: [column] for column in columns} if len(types) > 1 else dict.fromkeys(types, columns)
    return {name: [cast(c, kind) for c in named[name]] for name, kind in types.items()}
