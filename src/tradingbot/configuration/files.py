"""From files and presets to a checked `PipelineConfig`: `extends:`, merging, resources, errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from tradingbot.configuration.conflicts import place_conflict
from tradingbot.configuration.decoding import (
    NOT_SPELLED,
    decode,
    document_of_options,
    known_part,
)
from tradingbot.configuration.pipeline import PipelineConfig
from tradingbot.configuration.yaml_reader import Document, KeyPath, Place, read_document
from tradingbot.domain.errors import ConfigError, UserError, require_known
from tradingbot.domain.timeframe import Timeframe

OldKeys = Mapping[str, str]
"""Dotted key of an older version → its last word in this one, e.g. `guards.spread` →
`low_entropy`."""
NO_OLD_KEYS: OldKeys = {}


def rename_old_keys(document: Document, old_keys: OldKeys) -> Document:
    """Return a document under the keys of this version; call it before documents are merged.

    Example:
        >>> old = Document({"guards": {"spread": 0.2}})
        >>> rename_old_keys(old, {"guards.spread": "low_entropy"}).values
        {'guards': {'low_entropy': 0.2}}
    """
    values, places = deepcopy(document.values), dict(document.places)
    for dotted, new in old_keys.items():
        *above, old = dotted.split(".")
        section: Any = values
        for key in above:
            section = section.get(key) if isinstance(section, dict) else None
        if isinstance(section, dict) and old in section:
            section.setdefault(new, section.pop(old))
            if (*above, old) in places:
                places[(*above, new)] = places[(*above, old)]
    return Document(values, places)


DEFAULT_PRESET = "demo"
_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class LoadedConfig:
    """A merged configuration and the files it came from, the outermost first."""

    config: PipelineConfig
    files: tuple[Path, ...]
    places: Mapping[KeyPath, Place]

    def place_of(self, *keys: str | int) -> str | None:
        """File and line of a value; None where it is a default."""
        return place_of(self.places, keys)


def known_presets(kind: str = "") -> tuple[str, ...]:
    """Names of the presets that come with the package, or of a kind of them, sorted."""
    return _presets_in(preset_folder(kind))


def load_config(reference: str | Path = DEFAULT_PRESET) -> LoadedConfig:
    """Read a preset by name or a file by path, follow `extends:`, merge and check.

    Raises:
        ConfigError: Naming file and line, rule, value and remedy of the first broken rule.
    """
    document, files = read_merged(reference, preset_folder())
    return LoadedConfig(decode(PipelineConfig, document), files, document.places)


def read_merged(
    reference: str | Path, folder: Path, *, old_keys: OldKeys = NO_OLD_KEYS
) -> tuple[Document, tuple[Path, ...]]:
    """Read a preset of a folder or a file by path, follow `extends:` and merge.

    Args:
        reference: Name of a preset, or a file.
        folder: Of the presets.
        old_keys: Keys that files of older versions use.

    Raises:
        ConfigError: If a file or preset is unknown or unreadable, or `extends:` runs in a circle.
    """
    path = _locate(str(reference), folder, beside=None, where=None)
    return _read_chain(path, folder, old_keys, ())


def preset_folder(kind: str = "") -> Path:
    """Return the folder of the presets that come with the package, or of a kind of them."""
    return Path(str(resources.files("tradingbot.configuration").joinpath("presets"))) / kind


def check_resources(loaded: LoadedConfig) -> None:
    """Check what only the registries know: market, its parameters, universe, calendar, windows.

    Raises:
        ConfigError: Naming file and line of the first value that does not fit.
    """
    from tradingbot.data.calendar import TradingCalendar
    from tradingbot.data.synthetic.registry import market, parse_params
    from tradingbot.data.universes import load_universe

    section = loaded.config.market
    with _placed(loaded, "market", "name"):
        spec = market(section.name)
    with _placed(loaded, "market", "params"):
        parse_params(spec, section.params)
    with _placed(loaded, "market", "universe"):
        universe = load_universe(section.universe)
        calendar = TradingCalendar.load(universe.calendar, section.start, section.end)
    bars = calendar.bar_closes(Timeframe.parse(section.timeframe), section.grid).height
    _check_windows(loaded, bars)


def merge(parent: Document, child: Document) -> Document:
    """Lay `child` over `parent`: mappings key by key, everything else whole.

    A child that names another market starts with none of its parent's market parameters.
    """
    values, places = dict(parent.values), dict(parent.places)
    if _market_name(child) not in (None, _market_name(parent)):
        values["market"] = {k: v for k, v in values.get("market", {}).items() if k != "params"}
    return Document(_merge_values(values, child.values), {**places, **child.places})


def lay_options(
    document: Document,
    overrides: Mapping[str, object] | None,
    spelled: Mapping[str, str] = NOT_SPELLED,
    *,
    old_keys: OldKeys = NO_OLD_KEYS,
) -> Document:
    """Lay options over a document: dotted key → value; see `document_of_options`.

    Raises:
        ConfigError: If a key is no key, or is set twice.
    """
    options = document_of_options(overrides or {}, spelled)
    return merge(document, rename_old_keys(options, old_keys))


def place_of(places: Mapping[KeyPath, Place], keys: KeyPath) -> str | None:
    """File and line of a value or of the nearest mapping around it; None for a default."""
    known = known_part(keys, places)
    return str(places[known]) if known else None


def _read_chain(
    path: Path, folder: Path, old_keys: OldKeys, below: tuple[Path, ...]
) -> tuple[Document, tuple[Path, ...]]:
    resolved = path.resolve()
    if resolved in below:
        chain = " → ".join(file.name for file in (*below, resolved))
        raise ConfigError(
            "extends: must not come back to a file", was=chain, where=str(path), remedy="Break it"
        )
    document = read_document(path)
    values = dict(document.values)
    parent = values.pop("extends", None)
    document = rename_old_keys(Document(values, document.places), old_keys)
    if parent is None:
        return document, (path,)
    where = str(document.places[("extends",)])
    if not isinstance(parent, str) or not parent:
        rule, remedy = "extends must be one preset name or file", "Write e.g. extends: demo"
        raise ConfigError(rule, was=repr(parent), where=where, remedy=remedy)
    parent_path = _locate(parent, folder, beside=path.parent, where=where)
    base, files = _read_chain(parent_path, folder, old_keys, (*below, resolved))
    return merge(base, document), (path, *files)


def _locate(reference: str, folder: Path, *, beside: Path | None, where: str | None) -> Path:
    if not reference.strip() or "\0" in reference:
        remedy = f"Name a .yaml file, or one of: {', '.join(_presets_in(folder))}"
        rule = "configuration must be a preset or a file"
        raise ConfigError(rule, was=repr(reference), remedy=remedy)
    is_path = reference.endswith(_SUFFIXES) or "/" in reference or reference.startswith("~")
    if is_path:
        path = Path(reference).expanduser()
        return path if beside is None or path.is_absolute() else beside / path
    kind = "configuration" if folder == preset_folder() else f"{folder.name} configuration"
    rule = f"{kind} must be a known preset or a .yaml file"
    require_known(reference, _presets_in(folder), rule, where=where)
    return folder / f"{reference}.yaml"


def _presets_in(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in folder.glob("*.yaml")))


def _merge_values(parent: Mapping[str, Any], child: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(parent)
    for key, value in child.items():
        before = merged.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[key] = _merge_values(before, value)
        else:
            merged[key] = value
    return merged


def _market_name(document: Document) -> Any:
    section = document.values.get("market")
    return section.get("name") if isinstance(section, dict) else None


def _check_windows(loaded: LoadedConfig, bars: int) -> None:
    splits, quality = loaded.config.splits, loaded.config.quality
    smallest = min(splits.train, splits.validation, splits.test) if splits.by == "ratio" else 1.0
    days: list[KeyPath] = [("market", "start"), ("market", "end")]
    limits: tuple[tuple[KeyPath, int, int], ...] = (
        (("quality", "trailing_bars"), quality.trailing_bars, bars),
        (
            ("splits", "purge_bars"),
            splits.purge_bars + splits.embargo_bars,
            int(bars * float(smallest)),  # type: ignore[arg-type]
        ),
    )
    for keys, window, room in limits:
        if window >= room:
            raise ConfigError(
                f"{'.'.join(map(str, keys))} must be shorter than the data",
                was=f"{window} bars of {room}",
                where=place_conflict(loaded.places, [keys, *days]) or loaded.place_of("market"),
                remedy="Shorten the window or lengthen market.start … market.end",
            )


@contextmanager
def _placed(loaded: LoadedConfig, *keys: str) -> Iterator[None]:
    """Give errors of registries the place in the file that caused them."""
    try:
        yield
    except UserError as e:
        where = loaded.place_of(*keys) or e.where
        raise ConfigError(e.rule, was=e.was, where=where, remedy=e.remedy) from e
