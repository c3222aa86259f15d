"""What the graphs of a bundle take and give: names, types and shapes; read without ONNX."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pydantic import SerializerFunctionWrapHandler, model_serializer

from tradingbot.runs.record import StoredModel

OPSET = 20
"""Of ONNX's operators: the first with `Gelu`."""
BATCH = "batch"
"""Name of the first axis of every input and output: any length."""
WINDOW_FILE, STREAM_FILE, HEADS_FILE = "encoder_window.onnx", "encoder_stream.onnx", "heads.onnx"
MASTER_FILE = "master.onnx"
"""Only in bundles of portfolios."""
Dtype = Literal["float32", "int64", "bool"]
Confidence = Literal["probability_of_code", "probability_of_side", "distance_from_middle"]
"""What the confidence of an action is, in [0, 1].

`probability_of_code`: of the chosen code among those allowed. `probability_of_side`: how often an
action, drawn as in training, lies in the half of the range that the action is in. `distance_from_
middle`: of a policy that draws nothing, its share of the range or 1 − that, the larger.
"""


class MemoryTensor(StoredModel):
    """One tensor that streaming carries from bar to bar; zeros before the first one."""

    name: str
    shape: tuple[int, ...]
    """Without the batch."""
    dtype: Dtype = "float32"

    @property
    def name_after(self) -> str:
        """Name of the output that is the next bar's input."""
        return f"{self.name}_after"


class Port(NamedTuple):
    """An input or output of a graph."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    """Without the batch."""


class GraphSizes(StoredModel):
    """The numbers that shapes are made of."""

    n_agents: int
    """N."""
    n_features: int
    """F, columns of a row."""
    lookback_bars: int
    """W."""
    width: int
    """D, of an embedding."""
    n_private: int
    """P, private inputs of a head."""
    n_outputs: int
    """O, of a head."""
    has_codes: bool
    """Whether actions are codes, and heads read which are allowed."""
    memory: tuple[MemoryTensor, ...]
    n_master_inputs: int = 0
    """I, what a master reads; 0, and not written, where every symbol has an account of its own."""

    @model_serializer(mode="wrap")
    def _without_zero(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave the number out where there is no master: the same run gives the same bytes."""
        written: dict[str, Any] = write(self)
        if not self.n_master_inputs:
            written.pop("n_master_inputs", None)
        return written


def graph_ports(sizes: GraphSizes) -> dict[str, tuple[tuple[Port, ...], tuple[Port, ...]]]:
    """Return inputs and outputs of each graph, by its file."""
    embedding = Port("embedding", "float32", (sizes.width,))
    before = tuple(Port(each.name, each.dtype, each.shape) for each in sizes.memory)
    after = tuple(Port(each.name_after, each.dtype, each.shape) for each in sizes.memory)
    window = Port("window", "float32", (sizes.lookback_bars, sizes.n_features))
    allowed = (Port("allowed", "bool", (sizes.n_outputs,)),) if sizes.has_codes else ()
    private = Port("private", "float32", (sizes.n_private,))
    actions = (Port("action", "float32", ()), Port("confidence", "float32", ()))
    ports: dict[str, tuple[tuple[Port, ...], tuple[Port, ...]]] = {
        WINDOW_FILE: ((window, Port("known", "int64", ())), (embedding,)),
        STREAM_FILE: ((Port("row", "float32", (sizes.n_features,)), *before), (embedding, *after)),
        HEADS_FILE: (
            (Port("agent", "int64", ()), embedding, private, *allowed),
            (Port("output", "float32", (sizes.n_outputs,)), *actions),
        ),
    }
    if sizes.n_master_inputs:
        seen = Port("inputs", "float32", (sizes.n_master_inputs,))
        ports[MASTER_FILE] = ((seen,), (Port("weights", "float32", (sizes.n_agents + 1,)),))
    return ports
