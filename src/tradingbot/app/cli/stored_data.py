"""What a command that stores bars says about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tradingbot.app.cli.invocation import Invocation
from tradingbot.app.console import print_note, print_table, show_json

if TYPE_CHECKING:
    from tradingbot.app.dataset_users import DatasetUsers
    from tradingbot.data.ingest import Ingested
    from tradingbot.data.quality.check import Finding


def show_stored(
    invocation: Invocation, ingested: Ingested, name: str, *, before: str | None, as_json: bool
) -> None:
    """Show a new dataset, what was found wrong with its rows, and who uses the bars before it.

    Args:
        invocation: Of the command.
        ingested: What was stored.
        name: What it is called from now on.
        before: Id of what was called so until now; None: nothing was.
        as_json: Print one document.
    """
    from tradingbot.app.dataset_users import find_users
    from tradingbot.data.sources.vendor_source import SYMBOLS_WITHOUT_BARS

    dataset, manifest = ingested.dataset, ingested.dataset.manifest
    replaced = None
    if before not in (None, dataset.id):
        replaced = find_users(invocation.workspace, str(before))
    stored = {"manifest": manifest, "findings": ingested.findings, "replaced": replaced}
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
    if replaced is not None:
        _warn_of_replaced(name, replaced)
    invocation.print_hint(f"Next: tradingbot data validate {name}")


def _warn_of_replaced(name: str, replaced: DatasetUsers) -> None:
    used = "nothing in this workspace was made with them"
    if replaced.words:
        used = f"made with them: {replaced.words}, which go on with those"
    print_note(
        f"warning: {name} meant other bars until now, {replaced.id}; {used}. They stay stored: "
        f"--dataset {replaced.id} takes them, and what is begun with {name} from now on takes the "
        "new ones"
    )


def _by_code(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    grouped: dict[str, list[Finding]] = {}
    for finding in findings:
        grouped.setdefault(finding.code, []).append(finding)
    return grouped
