"""The five options: where they begin, what they do, when they end, with the plan's figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tradingbot.agents.options.market_options import OPTION_READS, MarketOptions, OptionSignals
from tradingbot.agents.options.rules import OPTION_NAMES, OptionRules
from tradingbot.domain.errors import ConfigError
from tradingbot.networks.option_actor import ActionRange, choose_options, corrected
from tradingbot.networks.options import OptionMemory, OptionRun, is_over

OPEN, CLOSE, TREND, SCALP, WAIT = range(5)
GAPS = torch.tensor([0.0, 0.02, 0.019, 0.009, -0.021, 0.0, 0.0])
STRETCH = torch.tensor([0.0, 0.03, 0.005, 0.011, -0.03, -0.004, 0.0101])


def options(**changes: float) -> MarketOptions:
    return MarketOptions(OptionRules(**changes), OptionSignals(GAPS, STRETCH), OPTION_READS)  # type: ignore[arg-type]


def account(position: float = 0.0, move: float = 0.0, earned: float = 0.0) -> Tensor:
    """Return private numbers (1, 1, 4): size, entry move, exposure, total return."""
    size = (position > 0.0) - (position < 0.0)
    return torch.tensor([float(size), move, abs(position), earned]).view(1, 1, 4)


def row(number: int) -> Tensor:
    return torch.tensor([[number]])


def run(option: int, elapsed: int = 0, mark: float = 0.0) -> OptionRun:
    return OptionRun(row(option), row(elapsed), torch.tensor([[mark]]))


@pytest.mark.parametrize(
    ("at", "position", "expected"),
    [
        (0, 0.0, (OPEN, SCALP, WAIT)),
        (0, 0.06, (CLOSE, SCALP, WAIT)),  # the position is there already
        (1, 0.0, (TREND,)),  # a gap of 2 %: nothing to wait for; 3 % above its mean: no entry
        (2, 0.0, (OPEN, SCALP, WAIT)),
        (3, 0.0, (SCALP, WAIT)),  # 1.1 % from its mean
        (4, 0.0, (WAIT,)),  # falls, and there is nothing to sell
        (4, 0.03, (CLOSE, TREND)),
    ],
)
def test_options_begin_where_the_plan_says(
    at: int, position: float, expected: tuple[int, ...]
) -> None:
    found = options().available(row(at), account(position))[0, 0]
    assert tuple(found.nonzero().flatten().tolist()) == expected


@pytest.mark.parametrize(
    ("option", "at", "elapsed", "private", "action"),
    [
        *((OPEN, 0, elapsed, account(0.02), wanted) for elapsed, wanted in ((0, 0.3), (1, 0.5))),
        *((OPEN, 0, elapsed, account(0.02), 0.7) for elapsed in (2, 9)),
        (OPEN, 0, 2, account(0.11), 0.0),
        (CLOSE, 0, 0, account(0.1, -0.01), -1.0),
        (CLOSE, 0, 0, account(0.1, 0.0), 0.0),
        (CLOSE, 0, 0, account(0.1, 0.01), -0.3),
        (CLOSE, 0, 0, account(0.1, 0.02), -0.8),
        (CLOSE, 0, 0, account(-0.1, 0.02), 0.8),  # a short is bought back
        (TREND, 1, 0, account(), 0.5),
        (TREND, 4, 0, account(0.1), -0.525),
        (SCALP, 5, 0, account(), 0.3),
        (SCALP, 6, 0, account(), -0.3),
        (WAIT, 1, 0, account(0.1), 0.0),
    ],
)
def test_options_do_what_the_plan_says(
    option: int, at: int, elapsed: int, private: Tensor, action: float
) -> None:
    found = options().propose(row(at), private, run(option, elapsed))
    assert found.item() == pytest.approx(action)


@pytest.mark.parametrize(
    ("option", "at", "elapsed", "private", "ends"),
    [
        (OPEN, 0, 1, account(0.05), True),
        (OPEN, 0, 1, account(0.049), False),
        (OPEN, 0, 10, account(0.01), True),
        (CLOSE, 0, 1, account(0.0), True),
        (CLOSE, 0, 19, account(0.01), False),
        (CLOSE, 0, 20, account(0.01), True),  # the hard timeout
        (TREND, 3, 1, account(), True),  # less than half of 2 % is left
        (TREND, 2, 1, account(), False),
        (SCALP, 5, 4, account(), False),
        (SCALP, 5, 5, account(), True),
        (WAIT, 0, 19, account(), False),
        (WAIT, 0, 20, account(), True),
        (WAIT, 1, 1, account(), True),  # a trend has begun
        (WAIT, 4, 1, account(), False),  # a fall, and nothing to sell
        (WAIT, 0, 1, account(0.1, 0.011), True),
        (WAIT, 0, 1, account(0.1, -0.011), True),
        (WAIT, 0, 1, account(0.1, 0.005), False),
    ],
)
def test_options_end_where_the_plan_says(
    option: int, at: int, elapsed: int, private: Tensor, ends: bool
) -> None:
    assert is_over(options(), row(at), private, run(option, elapsed)).item() is ends


@pytest.mark.parametrize(
    ("option", "at", "private", "reached"),
    [
        (OPEN, 0, account(0.05), True),
        (OPEN, 0, account(0.01), False),
        (CLOSE, 0, account(), True),
        (CLOSE, 0, account(0.02), False),
        (TREND, 0, account(earned=0.02), True),
        (SCALP, 0, account(earned=0.01), False),  # where it began
        (WAIT, 0, account(earned=0.01), True),
        (WAIT, 0, account(earned=0.0), False),
    ],
)
def test_aims_are_measured_from_where_options_began(
    option: int, at: int, private: Tensor, reached: bool
) -> None:
    found = options().succeeds(row(at), private, run(option, 5, mark=0.01))
    assert found.item() is reached


def test_all_accounts_at_once_are_as_one_by_one() -> None:
    draws = torch.Generator().manual_seed(1)
    rows = torch.randint(0, 7, (3, 8), generator=draws)
    private = 0.1 * torch.randn(3, 8, 4, generator=draws)
    private[..., 2] = private[..., 2].abs()
    drawn = OptionRun(
        torch.randint(0, 5, (3, 8), generator=draws),
        torch.randint(0, 21, (3, 8), generator=draws),
        torch.zeros(3, 8),
    )
    ours = options()
    assert bool(ours.available(rows, private).any(-1).all())  # something may always begin
    for i in range(3):
        for j in range(8):
            one = (rows[i : i + 1, j : j + 1], private[i : i + 1, j : j + 1])
            own = OptionRun(*(each[i : i + 1, j : j + 1] for each in drawn))
            whole = (rows, private)
            assert torch.equal(ours.available(*one)[0, 0], ours.available(*whole)[i, j])
            assert ours.propose(*one, own).item() == ours.propose(*whole, drawn)[i, j].item()
            assert ours.ends(*one, own).item() == ours.ends(*whole, drawn)[i, j].item()


def test_choice_is_among_what_is_available_and_only_where_it_is_due() -> None:
    preference = torch.tensor([0.0, 9.0, 8.0, 7.0, 1.0]).expand(1, 2, 5)  # would close
    rows, private = row(0).expand(1, 2), account(earned=0.02).expand(1, 2, 4)
    before = OptionRun(torch.tensor([[TREND, TREND]]), torch.tensor([[3, 3]]), torch.zeros(1, 2))
    is_new = torch.tensor([[True, False]])

    found = choose_options(options(), preference, rows, private, before, is_new)

    assert found.option.tolist() == [[SCALP, TREND]]
    assert found.elapsed.tolist() == [[0, 3]]
    assert found.mark[0].tolist() == pytest.approx([0.02, 0.0])  # where it begins
    assert corrected(torch.tensor(0.95), torch.tensor(1.0), 0.1, ActionRange(-1.0, 1.0)) == 1.0


def test_memory_goes_on_asks_again_and_begins_anew_by_rows() -> None:
    ours, memory, private = options(), OptionMemory(), account()
    began = run(WAIT)
    first, is_new = memory.recall(ours, row(2), private)
    assert is_new.item()
    memory.keep(row(2), first, is_new, began)
    assert memory.recall(ours, row(2), private)[1].item()  # the same row: chosen again, alike
    told = row(2)
    memory.keep(told, first, is_new, began)
    told += 1  # as simulators do, in place
    later, is_new = memory.recall(ours, told, private)
    assert (later.option.item(), later.elapsed.item(), is_new.item()) == (WAIT, 1, False)
    assert memory.recall(ours, row(6), private)[1].item()  # a jump
    memory.keep(row(0), first, is_new, began)
    assert memory.recall(ours, row(1), private)[1].item()  # a trend has begun: waiting ends
    memory.keep(row(2), first, is_new, run(WAIT, elapsed=19))
    assert memory.recall(ours, row(3), private)[1].item()  # after 20 bars every option ends


def test_averages_give_gap_and_stretch_and_what_is_missing_is_refused() -> None:
    close, fast, slow = 102.0, 101.0, 100.0
    found = OptionSignals.of_averages(
        torch.tensor([[fast / close - 1.0]]), torch.tensor([[slow / close - 1.0]])
    )
    assert found.gap.item() == pytest.approx(0.01, abs=1e-6)
    assert found.stretch.item() == pytest.approx(0.02, abs=1e-6)
    with pytest.raises(ConfigError, match="must see position, entry and return"):
        replace(options(), private=("size",))
    with pytest.raises(ConfigError, match="three rising numbers"):
        OptionRules(entry_actions=(0.5, 0.3, 0.7))
    assert options().names == OPTION_NAMES
