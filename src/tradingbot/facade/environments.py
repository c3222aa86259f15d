"""`tb.make_env`: Gymnasium environments on one's own bars."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, overload

from tradingbot.domain.errors import require_known
from tradingbot.envs.config import EnvConfig, read_config
from tradingbot.envs.registration import default_world
from tradingbot.envs.registration import make_env as make_single
from tradingbot.envs.single import RenderMode, TradingEnv
from tradingbot.envs.vector import TradingVectorEnv
from tradingbot.envs.world import World
from tradingbot.facade.bars import Bars
from tradingbot.facade.data import as_world
from tradingbot.features.panel import Panel
from tradingbot.market.params import ActionSpace

_EPISODE = ("episode_bars", "window_bars")
Data = Bars | Panel | World | str | Path | None


@overload
def make_env(
    data: Data = None,
    *,
    actions: ActionSpace = "continuous",
    config: EnvConfig | str | None = None,
    n_envs: None = None,
    render_mode: RenderMode | None = None,
    **changes: Any,
) -> TradingEnv: ...
@overload
def make_env(
    data: Data = None,
    *,
    actions: ActionSpace = "continuous",
    config: EnvConfig | str | None = None,
    n_envs: int,
    **changes: Any,
) -> TradingVectorEnv: ...
def make_env(
    data: Data = None,
    *,
    actions: ActionSpace = "continuous",
    config: EnvConfig | str | None = None,
    n_envs: int | None = None,
    render_mode: RenderMode | None = None,
    **changes: Any,
) -> TradingEnv | TradingVectorEnv:
    """Make a Gymnasium environment of bars, a panel or a world; of a synthetic market without one.

    Args:
        data: What `tb.load_bars` or `tb.build_panel` returned, anything `tb.load_bars` reads, or a
            world.
        actions: continuous, target (the wanted position) or discrete (seven codes with masks).
        config: A configuration or the name of a preset: default, sleeve, long_short, guarded …
        n_envs: So many as one `gymnasium.vector.VectorEnv`; a single environment by default.
        render_mode: What `render` of a single one returns.
        **changes: Fields of `EnvConfig`: costs, reward, observation, strict, starts; and
            episode_bars and window_bars.

    Raises:
        ConfigError: If a name is unknown.
        DataError: If there are too few bars for features and an episode.

    Example:
        >>> import tradingbot as tb
        >>> env = tb.make_env(actions="discrete", reward="log_growth", episode_bars=32)
        >>> observation, info = env.reset(seed=7)
        >>> observation["technical"].shape
        (552,)
    """
    world = default_world() if data is None else as_world(data)
    chosen = _changed(read_config(config), changes).with_space(actions)
    if n_envs is None:
        return make_single(actions, world, chosen, render_mode=render_mode)
    return TradingVectorEnv(world, chosen, n_envs)


def _changed(config: EnvConfig, changes: dict[str, Any]) -> EnvConfig:
    episode = {key: changes.pop(key) for key in _EPISODE if key in changes}
    if episode:
        rules = replace(config.rules, episode=replace(config.rules.episode, **episode))
        config = replace(config, rules=rules)
    known = (*EnvConfig.__dataclass_fields__, *_EPISODE)
    for key in changes:
        require_known(key, known, "a setting of an environment must be known")
    return replace(config, **changes)
