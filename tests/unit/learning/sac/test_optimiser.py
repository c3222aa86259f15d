"""One optimiser with named groups: who is in them, and whose rate is what."""

from __future__ import annotations

import torch

from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.networks import SoftNetworks, make_optimiser, set_rates, weights_of
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView


def _networks(*, tune: bool = True) -> SoftNetworks:
    head = HeadConfig(hidden=(4,), activation="relu")
    config = SACConfig(actor=head, critic=head, tune_temperature=tune)
    return SoftNetworks(2, 3, config, torch.Generator().manual_seed(1))


def test_groups_hold_what_learns_and_no_slow_copies() -> None:
    networks = _networks()
    optimiser = make_optimiser(networks, TableView(torch.zeros(1, 4, 3)), weight_decay=0.1)

    critic = weights_of(optimiser, "critic", "view")

    assert [id(w) for w in critic] == [id(w) for w in networks.critic.parameters()]
    assert weights_of(optimiser, "temperature")[0] is networks.log_temperature
    decays = {group["name"]: group["weight_decay"] for group in optimiser.param_groups}
    assert decays == {"critic": 0.1, "actor": 0.1, "temperature": 0.0}


def test_a_temperature_that_is_not_tuned_has_no_group() -> None:
    optimiser = make_optimiser(_networks(tune=False), TableView(torch.zeros(1, 4, 3)), 0.0)

    assert weights_of(optimiser, "temperature") == []


def test_rates_are_set_by_name_in_numbers_and_in_tensors() -> None:
    optimiser = make_optimiser(_networks(), TableView(torch.zeros(1, 4, 3)), 0.0)
    kept = torch.zeros(())
    optimiser.param_groups[0]["lr"] = kept  # as on a GPU

    set_rates(optimiser, {"temperature": 0.25}, 0.5)

    rates = {group["name"]: float(group["lr"]) for group in optimiser.param_groups}
    assert rates == {"critic": 0.5, "actor": 0.5, "temperature": 0.25}
    assert optimiser.param_groups[0]["lr"] is kept  # a captured step reads this very tensor
