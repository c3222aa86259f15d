"""What a command that stores bars says about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tradingbot.app.cli.invocation import Invocation
from tradingbot.app.console import print_note, print_table, show_json

if TYPE_CHECKING:
    from tradingbot.data.ingest import Ingested
    from tradingbot.data.quality.check import Finding


def show_stored(invocation: Invocation, ingested: Ingested, name: str, *, as_json: bool) -> None:
    """Show a new dataset, and what was found wrong with its rows."""
    from tradingbot.data.sources.vendor_source import SYMBOLS_WITHOUT_BARS

    dataset, manifest = ingested.dataset, ingested.dataset.manifest
    stored = {"manifest": manifest, "findings": ingested.findings}
    if show_json(as_json, {"name": name, "id": dataset.id, **stored}):
        return
    kind = "synthetic" if manifest.provenance.synthetic else manifest.provenance.provider
    rows = [
        ("dataset", f"{name} → {dataset.id} ({kind})"),
        ("bars", f"{manifest.rows:,} of {len(manifest.symbols)} symbols"),
        ("period", f"{manifest.first_closed_at:%Y-%m-%d} … {manifest.last_closed_at:%Y-%m-%d}"),
        ("covariates", ", ".join(manifest.covariates) or "none"),
        ("quarantined", f"{manifest.quarantined_rows:,} rows"),
    ]
    print_table("Stored", ["", ""], rows)
    without = manifest.provenance.detail.get(SYMBOLS_WITHOUT_BARS)
    if without:
        print_note(f"warning: left out, since the vendor has no bar of them: {without}")
    for code, found in _by_code(ingested.findings).items():
        print_note(
            f"{found[0].severity.value}: {sum(f.count for f in found):,} × {code}: "
            f"{found[0].message} ({found[0].action.value})"
        )
    invocation.print_hint(f"Next: tradingbot data validate {name}")


def _by_code(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    grouped: dict[str, list[Finding]] = {}
    for finding in findings:
        grouped.setdefault(finding.code, []).append(finding)
    return grouped
