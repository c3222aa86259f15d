"""`tb.compare`: several runs side by side, with intervals of their differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tradingbot.data.atomic import write_text
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.comparison.measure import compare_runs
from tradingbot.evaluation.comparison.page import headline_of, render_comparison, words_of
from tradingbot.evaluation.comparison.record import DifferingRow, RunComparison
from tradingbot.evaluation.tables import flat_rows
from tradingbot.facade.picture import require_ending
from tradingbot.facade.policy import load_policy
from tradingbot.facade.training import Run


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonReport:
    """Runs side by side: `to_html` writes the page, frames hold settings and differences."""

    found: RunComparison
    """Every number, as plain records with units."""

    @property
    def differences(self) -> pl.DataFrame:
        """One row per run: its figures less those of the first, with ends of 95 % intervals."""
        return pl.DataFrame(flat_rows(self.found.differences))

    @property
    def config(self) -> pl.DataFrame:
        """One row per setting that differs, one column per run."""
        return self._differing(self.found.config)

    @property
    def facts(self) -> pl.DataFrame:
        """One row per fact that differs: data, seed, code, machine."""
        return self._differing(self.found.facts)

    @property
    def results(self) -> pl.DataFrame:
        """One row per run: its own figures on its own test part."""
        rows = flat_rows([each.performance for each in self.found.runs])
        return pl.DataFrame(
            [{"run": each.run} | row for each, row in zip(self.found.runs, rows, strict=True)],
            infer_schema_length=None,
        ).drop("policy", "kind")

    def summary(self) -> str:
        """Say in lines of text what differs, and whether by more than chance."""
        lines = [headline_of(self.found), *words_of(self.found)]
        lines += [f"{each.run}: {line}" for each in self.found.differences for line in each.caveats]
        lines += [f"{run}: no difference: {why}" for run, why in self.found.unpaired]
        lines += [f"{row.name}: {' | '.join(row.values)}" for row in self.found.config]
        return "\n".join(dict.fromkeys(lines))

    def to_html(self, path: str | Path) -> Path:
        """Write one page that needs no other file and no network.

        Raises:
            ConfigError: If the path does not end in .html.
            MissingExtraError: If what draws pages is not installed.
            StorageError: If the disk refuses.
        """
        target = require_ending(Path(path), ".html")
        write_text(target, render_comparison(self.found))
        return target

    def __repr__(self) -> str:
        word = ", synthetic" if self.found.is_synthetic else ""
        return f"<Comparison of {len(self.found.runs)} runs{word}: {headline_of(self.found)}>"

    def _differing(self, rows: Sequence[DifferingRow]) -> pl.DataFrame:
        names = [each.run for each in self.found.runs]
        return pl.DataFrame(
            [{"name": row.name, **dict(zip(names, row.values, strict=True))} for row in rows],
            schema={"name": pl.String, **dict.fromkeys(names, pl.String)},
        )


def compare(
    runs: Sequence[Run | str | Path], *, workspace: str | Path | None = None
) -> ComparisonReport:
    """Compare finished runs: settings, data, results with intervals of the difference, behaviour.

    Every run trades its own test part at its own costs; the first is what the others are compared
    with, over the bars that both traded. Looks at test bars are counted in the ledger of trials.

    Args:
        runs: Two or more: what `tb.train` returned; or ids, beginnings of them, or folders.
        workspace: Where they are; told from the first run's folder by default.

    Raises:
        ConfigError: If there are fewer than two, one is named twice, or one is not finished.
        UserError: If a run or its data cannot be opened.
    """
    found = [load_policy(run, workspace=workspace) for run in runs]
    folders = {each.workspace for each in found}
    if len(folders) > 1:
        rule = "runs must be of one workspace, whose ledger counts the looks at test bars"
        raise ConfigError(rule, was=", ".join(sorted(map(str, folders))), remedy="Copy one over")
    if not found:
        raise ConfigError("a comparison must have two runs or more", was="none")
    paths = [str(each.run.path) for each in found]
    return ComparisonReport(compare_runs(paths, found[0].workspace))
