"""What a server answers is what its model says of the same bars; signals and explanations."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import torch

from fixtures.model_servers import (
    AT,
    ServedWorkspace,
    client_of,
    features_body,
    make_workspace,
    market_bars,
)
from fixtures.plain_accounts import accounts, costs
from fixtures.served_runs import SYMBOLS, make_served_run, raw_bars
from tradingbot.domain.action import Action
from tradingbot.features.registry import feature_of_id
from tradingbot.features.streaming import FeatureStream
from tradingbot.market.actions.continuous import decode_continuous
from tradingbot.market.actions.neutral import neutralise
from tradingbot.market.actions.target import decode_target
from tradingbot.market.buying_power import buying_power_of
from tradingbot.market.observation import observe_opened
from tradingbot.market.params import ActionRules, SimulatorParams
from tradingbot.market.private_features import FLAT_ACCOUNT, PRIVATE_FEATURES
from tradingbot.risk.limits import RiskLimits
from tradingbot.runs.acting import ActionRecord
from tradingbot.serving.bundle import BundleVerdict
from tradingbot.serving.export.run_export import export_run
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.server.accounts import allowed_codes, private_numbers
from tradingbot.serving.server.explanation import SHIFTS
from tradingbot.serving.server.problems import Problem
from tradingbot.serving.server.signals import Signal, neutralise_targets, read_signal

NAMES = tuple(feature.name for feature in PRIVATE_FEATURES)
FLAT = np.array([FLAT_ACCOUNT.get(name, 0.0) for name in NAMES])
FIELDS = ("open", "high", "low", "close", "volume")


def model_of(workspace: ServedWorkspace, name: str = "v1") -> ServedModel:
    version = workspace.registry.version(name)
    return ServedModel.open(workspace.registry.bundle_path(version))


def features_of(model: ServedModel, told: list[dict]) -> list[np.ndarray]:
    """Raw features of bars, as the stream of sessions makes them."""
    stream = FeatureStream(model.symbols, [feature_of_id(each) for each in model.feature_ids])
    made = []
    for bar in told:
        closed_at = np.datetime64(bar["closed_at"][:19], "us")
        fields = {name: np.array([bar["bars"][each][name] for each in SYMBOLS]) for name in FIELDS}
        fields["vwap"] = (fields["high"] + fields["low"] + fields["close"]) / 3
        made.append(stream.push(closed_at, np.ones(len(SYMBOLS), bool), fields))
    return made


def test_features_are_answered_as_the_model_answers_them(
    client: httpx.Client, workspace: ServedWorkspace
) -> None:
    model = model_of(workspace)
    sent = features_body(*SYMBOLS)

    told = client.post("/v1/predict/features", json=sent).json()

    raw = np.array([each["features"] for each in sent["inputs"]])
    rows = [model.scale(raw[:, bar], np.ones(3, bool))[0] for bar in range(raw.shape[1])]
    embedding = model.embed_windows(np.ascontiguousarray(np.stack(rows, axis=1)))
    wanted = model.decide(np.arange(3), embedding, np.repeat(FLAT[:, None], 3, axis=1))
    assert [each["action"] for each in told["signals"]] == pytest.approx(wanted.action.tolist())
    assert [each["confidence"] for each in told["signals"]] == pytest.approx(
        wanted.confidence.tolist()
    )
    assert [each["symbol"] for each in told["signals"]] == list(SYMBOLS)
    assert told["model"]["sha256"] == model.sha256
    assert told["is_warm"]


def test_bars_pushed_and_bars_of_a_history_are_one_stream_of_features(
    client: httpx.Client, workspace: ServedWorkspace
) -> None:
    model, bars = model_of(workspace), market_bars(60)
    live = model.live()
    for row in features_of(model, bars):
        live.take(row, np.ones(3, bool))
    wanted = live.act(np.repeat(FLAT[:, None], 3, axis=1)).action

    for bar in bars:
        pushed = client.post("/v1/stream/bars", json={**bar, "allow_stale": True}).json()
    history = client.post("/v1/predict/bars", json={"history": bars}).json()
    asked = client.get("/v1/signals").json()
    one = client.get("/v1/signals/BBB").json()

    assert wanted.std() > 0
    for answer in (pushed, asked):
        assert [each["action"] for each in answer["signals"]] == wanted.tolist()
    assert [each["action"] for each in history["signals"]] == pytest.approx(
        wanted.tolist(), abs=1e-4
    )
    assert one["signals"][0]["action"] == pytest.approx(wanted[1], abs=1e-4)
    assert pushed["closed_at"] == AT.isoformat().replace("+00:00", "Z")


def test_symbols_without_a_bar_hold_and_say_so(client: httpx.Client) -> None:
    for bar in market_bars(60):
        del bar["bars"]["CCC"]
        told = client.post("/v1/stream/bars", json={**bar, "allow_stale": True}).json()

    signals = {each["symbol"]: each for each in told["signals"]}
    assert (signals["CCC"]["signal"], signals["CCC"]["action"]) == ("HOLD", None)
    assert signals["CCC"]["reason"] == "no bar of the symbol"
    assert signals["AAA"]["reason"] is None


def test_what_is_undefined_is_named_with_what_it_lacks(client: httpx.Client) -> None:
    model = client.get("/v1/model").json()
    assert model["warm_up_bars"] > 2
    assert model["covariates"] == []
    short, long = ({"history": market_bars(count), "allow_stale": True} for count in (2, 120))
    told = client.post("/v1/predict/bars", json=short).json()
    reason = told["signals"][0]["reason"]
    named = re.match(r"features of the last bar are undefined: ([\w-]+)", reason)
    assert named is not None
    assert named[1] in model["feature_ids"]
    assert f"2 bars were seen, {model['warm_up_bars']} are needed" in reason
    told = client.post("/v1/predict/bars", json=long).json()
    assert [each["reason"] for each in told["signals"]] == [None] * len(model["symbols"])

    sent = features_body()
    sent["inputs"][0]["features"][-1][1] = None
    told = client.post("/v1/predict/features", json=sent).json()
    assert told["signals"][0]["reason"].endswith(f"undefined: {model['feature_ids'][1]}")


def test_a_bar_out_of_order_is_named_by_its_place(client: httpx.Client) -> None:
    bars = market_bars(3)
    told = client.post("/v1/predict/bars", json={"history": [*bars, bars[1]]})
    assert (told.status_code, told.json()["error"]["field"]) == (409, "history.3.closed_at")


def test_accounts_change_answers_and_are_held_to_their_bounds(client: httpx.Client) -> None:
    flat = client.post("/v1/predict/features", json=features_body()).json()
    sent = features_body()
    sent["inputs"][0]["account"] = {"size": 0.9, "entry_move": -0.1, "exposure": 0.9, "cash": 0.1}
    held = client.post("/v1/predict/features", json=sent).json()

    assert held["signals"][0]["action"] != flat["signals"][0]["action"]
    with pytest.raises(Problem, match="invalid"):
        private_numbers(NAMES, [{"size": 2.5}], ["a"])
    with pytest.raises(Problem, match="invalid"):
        private_numbers(NAMES, [{"sise": 0.5}], ["a"])


def test_a_flat_account_is_one_that_was_just_opened() -> None:
    opened = observe_opened(SimulatorParams(), accounts(cash=[1e5])).numpy()[:, 0]

    assert opened.tolist() == FLAT.tolist()


@pytest.mark.parametrize(
    ("action", "held", "wanted"),
    [
        (0.28, 0.0, Signal("BUY", 0.2, 0.28)),  # of the share beyond the hold zone
        (0.1, 0.0, Signal("HOLD", 0.0, 0.1)),
        (0.55, 0.0, Signal("BUY", 0.5, 0.55)),
        (1.5, 0.0, Signal("BUY", 1.0, 1.0)),
        (-0.55, 0.4, Signal("SELL", 0.5, 0.55)),
        (-0.7, 0.0, Signal("HOLD", 0.0, 0.0)),
    ],
)
def test_continuous_actions_are_read(action: float, held: float, wanted: Signal) -> None:
    found = read_signal(ActionRules(), action, held, allow_short=False)

    assert found.direction == wanted.direction
    assert found[1:] == pytest.approx(wanted[1:])


@pytest.mark.parametrize("units", [0.0, 30.0])
@pytest.mark.parametrize("space", ["continuous", "target"])
def test_sizes_are_those_that_the_simulator_orders(space: Any, units: float) -> None:
    rules = SimulatorParams(
        limits=RiskLimits(max_position_frac=0.5),
        action=ActionRules(space=space, smoothing_bars=1, hold_zone=0.2),
    )
    account = accounts(cash=[10_000.0 - 100.0 * units], units=[units])
    room = buying_power_of(rules.limits, costs(), account, account.equity)
    largest = float(room.largest) / 100.0
    for action in (-1.0, -0.6, -0.3, 0.0, 0.25, 0.55, 0.9, 1.0):
        signal = read_signal(rules.action, action, units / largest, allow_short=False)
        given = torch.tensor([action], dtype=torch.float64)
        if space == "target":
            order = decode_target(rules.action, account, room, given, lowest=0.0).order
            unit = largest
        else:
            order = decode_continuous(rules.action, account, room, given).order
            bought = float(torch.minimum(room.place, room.buy_room)) / 100.0
            unit = units if action < 0.0 and units else bought
        side = {"BUY": 1.0, "SELL": -1.0, "HOLD": 0.0}[signal.direction]
        assert side * signal.size * unit == pytest.approx(float(order)), action


def test_order_types_follow_strength() -> None:
    types = [Signal("BUY", x, x).order_type for x in (0.2, 0.49, 0.5, 0.9)]

    assert types == ["LIMIT", "LIMIT", "MARKET", "MARKET"]
    assert Signal("HOLD", 0.0, 0.9).order_type is None


def test_targets_are_read_against_what_is_held() -> None:
    rules = ActionRules(space="target")

    assert read_signal(rules, 0.2, 0.8, allow_short=False) == Signal(
        "SELL", pytest.approx(0.6), pytest.approx(0.6)
    )
    assert read_signal(rules, 0.8, 0.8, allow_short=False).direction == "HOLD"
    assert read_signal(rules, -0.5, 0.0, allow_short=True).direction == "SELL"


def test_codes_are_read_by_their_sizes() -> None:
    rules = ActionRules(space="discrete")
    found = {code: read_signal(rules, code, 0.0, allow_short=False) for code in Action}

    assert found[Action.HOLD].direction == "HOLD"
    assert found[Action.BUY_MEDIUM] == Signal("BUY", 2 / 3, 2 / 3)
    assert found[Action.SELL_PARTIAL] == Signal("SELL", 0.5, 0.5)
    assert found[Action.SELL_ALL].order_type == "MARKET"


def test_codes_that_are_allowed_follow_the_account() -> None:
    rules = ActionRules(space="discrete", max_adds=2)
    accounts = [{}, {"size": 0.5, "entry_move": 0.1, "adds": 0.5}, {"size": 0.5, "adds": 2 / 3}]
    allowed = allowed_codes(rules, NAMES, private_numbers(NAMES, accounts, ["a", "b", "c"]))

    flat, long, added = ({Action(code).name for code in np.flatnonzero(a)} for a in allowed.T)
    assert flat == {"HOLD", "BUY_SMALL", "BUY_MEDIUM", "BUY_LARGE"}
    assert long == {"HOLD", "SELL_PARTIAL", "SELL_ALL", "ADD_POSITION"}
    assert added == long - {"ADD_POSITION"}


def test_neutral_targets_are_the_simulators() -> None:
    draw = np.random.default_rng(5)
    for gross in (0.1, 0.4, 1.0):
        proposed, counted = draw.uniform(-1, 1, 20), draw.random(20) < 0.8
        wanted = neutralise(torch.from_numpy(proposed), torch.from_numpy(counted), gross)
        found = neutralise_targets(proposed, counted, gross)
        assert found == pytest.approx(wanted.numpy())


def test_contributions_and_changes_are_what_the_model_says(
    client: httpx.Client, workspace: ServedWorkspace
) -> None:
    model = model_of(workspace)
    seed = next(  # a signal that is no HOLD, so that there is something to change
        seed for seed in range(40) if _action(model, raw_bars(9, seed=seed)) > 0.2
    )
    bars = raw_bars(9, seed=seed)[:, 0].astype(float)
    sent = {"inputs": [{"symbol": "AAA", "features": bars.tolist()}], "explain": True}

    (told,) = client.post("/v1/predict/features", json=sent).json()["signals"]

    found = told["explanation"]
    window = np.stack(
        [model.scale(row[None], np.ones(1, bool), symbols=["AAA"])[0][0] for row in bars]
    )
    ids = [feature.id for feature in model.manifest.acting.features]
    for each in found["contributions"][:3]:
        without = window.copy()
        without[:, ids.index(each["feature"])] = 0.0
        wanted = _ask(model, window) - _ask(model, without)
        assert each["contribution"] == pytest.approx(wanted, abs=1e-5)
    sizes = [abs(each["contribution"]) for each in found["contributions"]]
    assert sizes == sorted(sizes, reverse=True)
    assert found["regime"].keys() == {"realised_volatility"}
    assert found["changes"], "no shift changes it: choose another seed"
    for change in found["changes"]:
        column, wanted = ids.index(change["feature"]), {"BUY": 1, "HOLD": 0, "SELL": -1}
        for shift in SHIFTS[: SHIFTS.index(change["shift"]) + 1]:
            shifted = window.copy()
            shifted[-1, column] += shift
            signal = read_signal(ActionRules(), _ask(model, shifted), 0.0, allow_short=False)
            is_other = signal.direction != told["signal"]
            assert is_other == (shift == change["shift"])
        assert signal.direction == change["signal"]
        assert change["signal"] in wanted


def _action(model: ServedModel, bars: np.ndarray) -> float:
    rows = [model.scale(row[:1], np.ones(1, bool), symbols=["AAA"])[0][0] for row in bars]
    return _ask(model, np.stack(rows))


def _ask(model: ServedModel, window: np.ndarray) -> float:
    embedding = model.embed_windows(window[None].astype(np.float32))
    return float(model.decide(np.array([0]), embedding, FLAT[:, None]).action[0])


def test_a_bar_that_is_not_taken_leaves_the_stream_as_it_was(client: httpx.Client) -> None:
    bars = [{**bar, "allow_stale": True} for bar in market_bars(12)]
    for bar in bars[:11]:
        client.post("/v1/stream/bars", json=bar)

    odd = {**bars[11], "accounts": {"AAA": {"size": 99.0}}}
    unknown = {**bars[11], "bars": {**bars[11]["bars"], "ZZZ": bars[11]["bars"]["AAA"]}}
    again = bars[3]
    refused = [
        client.post("/v1/stream/bars", json=each).status_code for each in (odd, unknown, again)
    ]

    assert refused == [422, 422, 409]
    assert client.get("/v1/model").json()["bars_taken"] == 11
    assert client.post("/v1/stream/bars", json=bars[11]).status_code == 200


def serve_run(folder: Path, **terms: Any) -> ServedWorkspace:
    """A workspace that serves a model of these terms."""
    run = make_served_run(folder / "runs", **terms)
    export_run(run, folder / "made.zip", n_hostile=20, verdict=BundleVerdict(status="GO"))
    (folder / "w").mkdir()
    return make_workspace(folder / "w", [folder / "made.zip"])


def test_neutral_models_are_asked_about_all_symbols(tmp_path: Path) -> None:
    rules = ActionRules(space="target", smoothing_bars=1, neutral_gross_frac=0.4)
    limits = RiskLimits(allow_short=True)
    action = ActionRecord(rules=asdict(rules), limits=asdict(limits))
    with client_of(serve_run(tmp_path, action=action).parts()) as client:
        path = "/v1/predict/features"
        told = client.post(path, json=features_body(*SYMBOLS)).json()["signals"]
        one = client.post(path, json=features_body(SYMBOLS[0]))
        explained = client.post(path, json=features_body(*SYMBOLS, explain=True))

    sides = {"BUY": 1.0, "SELL": -1.0, "HOLD": 0.0}
    signed = [sides[each["signal"]] * each["size"] for each in told]
    proposed = np.array([each["action"] for each in told])
    assert signed == pytest.approx(neutralise_targets(proposed, np.ones(len(told), bool), 0.4))
    assert sum(signed) == pytest.approx(0.0, abs=1e-9)
    assert max(map(abs, signed)) > 0.0
    assert (one.status_code, one.json()["error"]["code"]) == (422, "all_symbols")
    assert (explained.status_code, explained.json()["error"]["code"]) == (422, "neutral")


def test_discrete_models_answer_in_codes(tmp_path: Path) -> None:
    workspace = serve_run(tmp_path, squash=None, n_outputs=7)
    with client_of(workspace.parts()) as client:
        told = client.post(
            "/v1/predict/features", json=features_body(*SYMBOLS, explain=True)
        ).json()

    for each in told["signals"]:
        assert each["action"] in (0.0, 1.0, 2.0, 3.0)
        assert each["signal"] in ("HOLD", "BUY")
        assert each["explanation"]["of"] == "score of the code"


def test_old_bars_warm_the_stream_up_and_are_answered_with_hold(client: httpx.Client) -> None:
    for bar in market_bars(60, last=AT - timedelta(days=3)):
        told = client.post("/v1/stream/bars", json=bar).json()

    assert {each["signal"] for each in told["signals"]} == {"HOLD"}
    assert {each["reason"] for each in told["signals"]} == {"the bar is too old"}
    assert client.get("/v1/model").json()["bars_taken"] == 60
