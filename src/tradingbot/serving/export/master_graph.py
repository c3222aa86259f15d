"""The master as a graph: a head over a set of sleeves, whose outputs are weights of capital."""

from __future__ import annotations

from tradingbot.agents.master_policy import MasterPolicy
from tradingbot.domain.errors import ConfigError
from tradingbot.networks.set_head import SetHead
from tradingbot.serving.export.heads_graph import ACTIVATIONS
from tradingbot.serving.export.onnx_graph import OnnxGraph


def master_model(master: MasterPolicy, n_inputs: int) -> bytes:
    """Return the model `inputs` (B, I) → `weights` (B, N + 1) of sleeves and cash.

    Raises:
        ConfigError: If it rounds its weights.
    """
    if master.squash.levels:
        rule = "a master must not round its weights to be exported"
        raise ConfigError(rule, was=f"{master.squash.levels} levels")
    graph = OnnxGraph("master")
    seen = graph.add_input("inputs", (n_inputs,))
    output = _write_head(graph, master.head, seen, n_inputs)
    scaled = graph.apply("Mul", output, graph.constant(master.squash.gain))
    cash = graph.apply("Mul", graph.slice(scaled, 1, 0, 1), graph.constant(0.0))
    weights = graph.apply("Softmax", graph.apply("Concat", scaled, cash, axis=-1), axis=-1)
    if not master.trades:
        idle = [*(0.0 for _ in range(master.n_sleeves)), 1.0]
        nothing = graph.apply("Mul", weights, graph.constant(0.0))
        weights = graph.apply("Add", nothing, graph.constant([idle]))
    graph.add_output("weights", weights, (master.n_sleeves + 1,))
    return graph.to_bytes()


def _write_head(graph: OnnxGraph, head: SetHead, seen: str, n_inputs: int) -> str:
    """Return the first output of every member, (B, N), as `SetHead.forward` has it."""
    activation = ACTIVATIONS[head.config.activation]
    member, shared, query, own, together, out = (graph.constant(each) for each in head.weights)
    first, second, last = (graph.constant(each) for each in head.biases)
    members, others = _divide(graph, head, seen, n_inputs)
    of_all = graph.apply("Add", graph.apply("MatMul", others, shared), first)
    of_each = graph.apply("MatMul", members, member)
    h = graph.apply(activation, graph.apply("Add", of_each, graph.unsqueeze(of_all, 1)))
    attention = graph.apply("Softmax", graph.apply("MatMul", h, query), axis=1)
    weighed = graph.apply("MatMul", graph.apply("Transpose", attention, perm=[0, 2, 1]), h)
    n = head.inputs.n_members
    mean = graph.apply("MatMul", graph.constant([[1.0 / n] * n]), h)
    pooled = graph.apply("Concat", mean, weighed, axis=-1)
    of_set = graph.apply("Add", graph.apply("MatMul", pooled, together), second)
    z = graph.apply(activation, graph.apply("Add", graph.apply("MatMul", h, own), of_set))
    answers = graph.apply("Add", graph.apply("MatMul", z, out), last)
    return graph.squeeze(graph.slice(answers, 2, 0, 1), 2)


def _divide(graph: OnnxGraph, head: SetHead, seen: str, n_inputs: int) -> tuple[str, str]:
    """Return numbers of members (B, N, W) and shared ones (B, S)."""
    n = head.inputs.n_members
    spans = [
        graph.reshape(graph.slice(seen, 1, begin, begin + width * n), 0, n, width)
        for begin, width in head.inputs.spans
    ]
    shared = [graph.slice(seen, 1, *ends) for ends in head.inputs.shared_columns(n_inputs)]
    return graph.apply("Concat", *spans, axis=-1), graph.apply("Concat", *shared, axis=-1)
