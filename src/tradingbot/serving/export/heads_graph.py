"""Heads of all agents as one graph: each row of a batch names its agent, and gets an action."""

from __future__ import annotations

import math

from torch import Tensor

from tradingbot.agents.network_policy import NetworkPolicy
from tradingbot.networks.actor_layout import Squash
from tradingbot.networks.distributions import LOG_STD_BOUNDS
from tradingbot.serving.export.onnx_graph import OnnxGraph
from tradingbot.serving.graph_contract import Confidence

_FORBIDDEN = -1.0e9
"""Preference for a code that is not allowed, as in `networks.distributions`."""
ACTIVATIONS = {"tanh": "Tanh", "relu": "Relu", "gelu": "Gelu"}
"""Operators of `networks.heads.ACTIVATIONS`."""
_FLOAT = 1  # of ONNX's types


def confidence_kind(policy: NetworkPolicy) -> Confidence:
    """Say what the confidence of a policy's action is; see `graph_contract.Confidence`."""
    if policy.squash is None:
        return "probability_of_code"
    is_drawn = policy.squash.kind == "tanh" and policy.actor.n_outputs == 2
    return "probability_of_side" if is_drawn else "distance_from_middle"


def heads_model(policy: NetworkPolicy, width: int, n_private: int) -> bytes:
    """Return the model of N agents' heads.

    Inputs: `agent` (B,) int64, `embedding` (B, D), `private` (B, P) and, where actions are codes,
    `allowed` (B, A) bool. Outputs: `output` (B, O), `action` (B,), `confidence` (B,).
    """
    graph = OnnxGraph("heads")
    agent = graph.add_input("agent", (), "int64")
    seen = [graph.add_input("embedding", (width,)), graph.add_input("private", (n_private,))]
    output = _write_layers(graph, policy, agent, graph.apply("Concat", *seen, axis=-1))
    if policy.squash is None:
        allowed = graph.add_input("allowed", (policy.actor.n_outputs,), "bool")
        action, confidence = _read_codes(graph, output, allowed)
    else:
        action, confidence = _read_number(graph, policy.squash, output, confidence_kind(policy))
    trades = graph.apply("Gather", graph.constant(policy.trades[:, 0], "bool"), agent, axis=0)
    wanted = graph.apply("Where", trades, action, graph.constant(0.0))
    graph.add_output("output", output, (policy.actor.n_outputs,))
    graph.add_output("action", wanted, ())
    graph.add_output("confidence", confidence, ())
    return graph.to_bytes()


def _write_layers(graph: OnnxGraph, policy: NetworkPolicy, agent: str, seen: str) -> str:
    """Return outputs (B, O) of inputs (B, I)."""
    config, hidden, (*layers, last) = policy.actor.config, seen, policy.layers
    for layer in layers:
        hidden = graph.apply(ACTIVATIONS[config.activation], _affine(graph, layer, agent, hidden))
    if config.pooling == "pooled" and all(bool((part == part[:1]).all()) for part in last):
        last = (last[0][0], last[1][0, 0])  # one for all, unless agents learned with a master
    return _affine(graph, last, agent, hidden)


def _affine(graph: OnnxGraph, layer: tuple[Tensor, Tensor], agent: str, value: str) -> str:
    """Return a layer (I, O), or each agent's own of (N, I, O), of a value (B, I)."""
    weight, bias = layer
    if weight.dim() == 2:
        product = graph.apply("MatMul", value, graph.constant(weight))
        return graph.apply("Add", product, graph.constant(bias))
    own = graph.apply("Gather", graph.constant(weight), agent, axis=0)
    product = graph.apply("MatMul", graph.unsqueeze(value, 1), own)
    added = graph.apply("Gather", graph.constant(bias), agent, axis=0)
    return graph.squeeze(graph.apply("Add", product, added), 1)


def _read_codes(graph: OnnxGraph, output: str, allowed: str) -> tuple[str, str]:
    """Return the preferred code among those allowed, and its probability among them."""
    masked = graph.apply("Where", allowed, output, graph.constant(_FORBIDDEN))
    code = graph.apply("ArgMax", masked, axis=-1, keepdims=0)
    chance = graph.apply("Softmax", masked, axis=-1)
    most = graph.apply("ReduceMax", chance, graph.constant([-1], "int64"), keepdims=0)
    return graph.apply("Cast", code, to=_FLOAT), most


def _read_number(
    graph: OnnxGraph, squash: Squash, output: str, kind: Confidence
) -> tuple[str, str]:
    """Return numbers (B,) of the first outputs, and how decided they are."""
    first = graph.squeeze(graph.slice(output, 1, 0, 1), 1)
    scaled = graph.apply("Mul", first, graph.constant(squash.gain))
    if squash.kind == "sigmoid":
        share = graph.apply("Sigmoid", scaled)
    else:
        shifted = graph.apply("Add", graph.apply("Tanh", scaled), graph.constant(1.0))
        share = graph.apply("Mul", shifted, graph.constant(0.5))
    stretched = graph.apply("Mul", share, graph.constant(squash.high - squash.low))
    position = graph.apply("Add", stretched, graph.constant(squash.low))
    if kind == "probability_of_side":
        return _rounded(graph, squash, position), _side_probability(graph, output, scaled)
    other = graph.apply("Sub", graph.constant(1.0), share)
    return _rounded(graph, squash, position), graph.apply("Max", share, other)


def _side_probability(graph: OnnxGraph, output: str, mean: str) -> str:
    """Return Φ(|mean| ÷ deviation): how often a drawn action is in the half that the mean is in."""
    lowest, highest = LOG_STD_BOUNDS
    raw = graph.squeeze(graph.slice(output, 1, 1, 2), 1)
    shifted = graph.apply("Add", graph.apply("Tanh", raw), graph.constant(1.0))
    spread = graph.apply("Mul", shifted, graph.constant(0.5 * (highest - lowest)))
    log_std = graph.apply("Add", spread, graph.constant(lowest))
    scaled = graph.apply("Div", graph.apply("Abs", mean), graph.apply("Exp", log_std))
    error = graph.apply("Erf", graph.apply("Mul", scaled, graph.constant(math.sqrt(0.5))))
    return graph.apply("Mul", graph.apply("Add", error, graph.constant(1.0)), graph.constant(0.5))


def _rounded(graph: OnnxGraph, squash: Squash, position: str) -> str:
    """Return positions rounded to levels as `networks.distributions.round_to_levels` does."""
    if not squash.levels:
        return position
    low, high, steps = squash.low, squash.high, squash.levels - 1
    width = graph.constant(high - low)
    share = graph.apply("Div", graph.apply("Sub", position, graph.constant(low)), width)
    whole = graph.apply("Round", graph.apply("Mul", share, graph.constant(steps)))
    share = graph.apply("Div", whole, graph.constant(steps))
    from_low = graph.apply("Add", graph.apply("Mul", width, share), graph.constant(low))
    missing = graph.apply("Sub", graph.constant(1.0), share)
    from_high = graph.apply("Sub", graph.constant(high), graph.apply("Mul", width, missing))
    is_near = graph.apply("Less", share, graph.constant(0.5))
    return graph.apply("Where", is_near, from_low, from_high)
