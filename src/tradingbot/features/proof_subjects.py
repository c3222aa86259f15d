"""What every panel must prove: its features, regimes, joins and mask, and the scalers on them.

Here the prover meets the project's own features; the prover itself knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.domain.errors import DataError
from tradingbot.features.causality import certificate as certificates
from tradingbot.features.causality import subject as claims
from tradingbot.features.causality.certificate import Certificate
from tradingbot.features.causality.prover import ProofPlan, prove_causal, prove_every_bar
from tradingbot.features.causality.subject import CausalityReport, registered_subjects
from tradingbot.features.causality.tally import differs
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.panel import Panel, panel_tensors, stored_form
from tradingbot.features.scaling import (
    SCALER_KINDS,
    BoolArray,
    Pooling,
    Real,
    Scaler,
    ScalerOptions,
    fit_scaler,
)
from tradingbot.features.spec import FeatureSpec, spec_hash


def default_subjects(context: claims.ProofContext) -> tuple[claims.ProofSubject, ...]:
    """The subjects a panel's certificate must cover (`certificate.PANEL_SUBJECTS`)."""
    return feature_subject(context), scaling_subject(context)


def feature_subject(context: claims.ProofContext) -> claims.ProofSubject:
    """Every feature, regime and joined covariate in both forms, and the validity mask.

    Outputs: `<family>/<name>` as stored, `raw/<name>` where the raw form differs, `mask/valid`.
    """

    def compute(inputs: MarketInputs) -> Mapping[str, claims.Output]:
        raw_specs = [spec for spec in context.specs if spec.raw != spec.network]
        network = compute_features(inputs, context.specs)
        raw = compute_features(inputs, raw_specs, form="raw")
        valid = inputs.present.copy()
        for values in network.values():
            valid &= stored_form(values)[1]
        return {
            **{
                f"{s.family}/{s.name}": claims.Rows(network[s.name], _scope(s))
                for s in context.specs
            },
            **{f"raw/{s.name}": claims.Rows(raw[s.name], _scope(s)) for s in raw_specs},
            "mask/valid": claims.Rows(valid, "market"),
        }

    return claims.ProofSubject("features", compute, proved_at_every_bar=True)


def scaling_subject(context: claims.ProofContext) -> claims.ProofSubject:
    """Each kind of scaler fitted on the training rows, and the panel's tensors scaled with it.

    Outputs: `scaler/<kind>`, and per kind `scaled/<kind>`, known from the last training row on.
    """
    last = context.train_rows - 1
    names = [spec.name for spec in context.specs if spec.family == "technical"]

    def compute(inputs: MarketInputs) -> Mapping[str, claims.Output]:
        tensors = panel_tensors(inputs, context.specs)
        features, valid = tensors["features"], tensors["valid"]
        tensors.clear()  # prices and regimes need not stay in memory meanwhile
        outputs: dict[str, claims.Output] = {}
        for kind in SCALER_KINDS:
            scaler = fit_scaler(
                kind,
                features,
                valid,
                slice(0, context.train_rows),
                feature_names=names,
                symbols=inputs.symbols,
            )
            scaled = scaler.transform(features, valid, feature_names=names)
            outputs[f"scaler/{kind}"] = claims.Fitted(np.stack([scaler.centre, scaler.scale]), last)
            outputs[f"scaled/{kind}"] = claims.Rows(scaled.swapaxes(0, 1), known_from=last)
        return outputs

    return claims.ProofSubject("scaling", compute, proved_at_every_bar=True)


def prove_scaling_every_bar(
    inputs: MarketInputs, specs: Sequence[FeatureSpec], train_rows: int
) -> tuple[claims.ProofVerdict, ...]:
    """Fit each kind of scaler without the rows after training, and scale one bar at a time.

    Rows that are not there cannot be read: the statistics must be those of the whole panel, and a
    bar that is scaled by itself must have the bits that it has among the others.

    Returns:
        Verdicts of subject `every_bar`: `scaler/<kind>` and `scaled/<kind>`.
    """
    tensors = panel_tensors(inputs, specs)
    features, valid = tensors["features"], tensors["valid"]
    names = [spec.name for spec in specs if spec.family == "technical"]
    found = []
    for kind in SCALER_KINDS:
        fitted, expected = (
            fit_scaler(
                kind,
                features[:, :stop],
                valid[:, :stop],
                slice(0, train_rows),
                feature_names=names,
                symbols=inputs.symbols,
            )
            for stop in (None, train_rows)
        )
        same = fitted.sha256 == expected.sha256
        values = np.stack([expected.centre, expected.scale])
        found.append(
            _every_bar_verdict(f"scaler/{kind}", values, np.full(values.shape, not same), inputs)
        )
        scale = partial(expected.transform, feature_names=names)
        alone = scale_bar_by_bar(scale, features, valid)
        changed = differs(fitted.transform(features, valid, feature_names=names), alone)
        found.append(_every_bar_verdict(f"scaled/{kind}", alone, changed, inputs))
    return tuple(found)


def refit_scaler(
    scaler: Scaler, features: Real, valid: BoolArray, train: slice, symbols: Sequence[str]
) -> Scaler:
    """Fit a scaler of the same kind again; give it no row after training, and it can use none."""
    pooling: Pooling = "pooled" if scaler.symbols is None else "per_symbol"
    return fit_scaler(
        scaler.kind,
        features,
        valid,
        train,
        feature_names=scaler.feature_names,
        symbols=symbols,
        options=ScalerOptions(pooling=pooling, clip=scaler.clip),
    )


def scale_bar_by_bar(
    scale: Callable[[Real, BoolArray], Real], features: Real, valid: BoolArray
) -> Real:
    """Scale features (N, T, F) so that no bar can know another one.

    Args:
        scale: Takes features (N, 1, F) and where they are valid (N, 1).
        features: Of all bars.
        valid: (N, T).
    """
    scaled = np.empty_like(features)
    for row in range(features.shape[1]):
        bar = slice(row, row + 1)
        scaled[:, bar] = scale(features[:, bar], valid[:, bar])
    return scaled


def _every_bar_verdict(
    output: str, expected: Real, changed: BoolArray, inputs: MarketInputs
) -> claims.ProofVerdict:
    """Judge (N, T, F) values that were made without the bars after them, or fitted ones."""
    offence = None
    if changed.any():
        place = tuple(int(i) for i in np.argwhere(changed)[0])
        is_fitted = output.startswith("scaler/")
        offence = claims.Offence(
            symbol=None if is_fitted else inputs.symbols[place[0]],
            closed_at=None if is_fitted else str(inputs.closed_at[place[1]]),
            cut_at="the end of training" if is_fitted else str(inputs.closed_at[place[1]]),
            perturbation="later rows taken away",
            expected=repr(float(expected[place])),
            got="another value",
        )
    return claims.ProofVerdict(
        *("every_bar", output, "market", 0, "leaks" if offence else "causal"),
        *(int(changed.size), int(changed.sum()), offence),
    )


def certify_panel(
    panel: Panel,
    inputs: MarketInputs,
    specs: Sequence[FeatureSpec],
    *,
    train_rows: int,
    plan: ProofPlan | None = None,
    scaler: Scaler | None = None,
    progress: Progress = ignore_progress,
) -> tuple[CausalityReport, Certificate | None]:
    """Prove a stored panel causal and write its certificate beside it.

    An older certificate stays until the proof ends, so that a kill takes nothing away; it is
    withdrawn where the panel fails.

    Args:
        panel: The panel, opened without asking for a certificate.
        inputs: The market it was built from.
        specs: The specs it was built from.
        train_rows: Rows of the training period; scalers are fitted on them.
        plan: Cuts; the end of training is always among the boundaries.
        scaler: The scaler that will be used with the panel; the certificate then names it.
        progress: Told after each recomputation.

    Returns:
        The report, and the certificate if every output was proved.

    Raises:
        DataError: If the panel does not hold what `inputs` and `specs` give, or the scaler was
            not fitted on this panel's training rows.
        StorageError: Before the proof, if a certificate could not be written beside the panel.
    """
    certificates.require_writable(panel.folder)
    try:
        _require_same_content(panel, inputs, specs)
        if scaler is not None:
            _require_train_scaler(scaler, panel, train_rows)
    except DataError:
        certificates.withdraw_certificate(panel.folder)
        raise
    plan = plan or ProofPlan()
    boundaries = tuple(sorted({*plan.boundaries, train_rows}))
    context = claims.ProofContext(tuple(specs), train_rows)
    subjects = (*default_subjects(context), *registered_subjects(context))
    report = prove_causal(inputs, subjects, replace(plan, boundaries=boundaries), progress=progress)
    found = plan.every_bar() if plan.every_bar is not None else None
    fed = prove_every_bar(inputs, specs, progress=progress) if found is None else found
    assert [each.output for each in fed] == [f"{spec.family}/{spec.name}" for spec in specs]
    scaled = prove_scaling_every_bar(inputs, specs, train_rows)
    report = replace(report, verdicts=(*report.verdicts, *fed, *scaled))
    if not report.is_causal:
        certificates.withdraw_certificate(panel.folder)
        return report, None
    identity = certificates.PanelIdentity(
        dataset_sha256=panel.manifest.dataset_sha256,
        spec_sha256=panel.manifest.spec_sha256,
        panel_sha256=panel.manifest.sha256,
        scaler_sha256=None if scaler is None else scaler.sha256,
        scaler_fit=None if scaler is None else scaler.fitted_on,
    )
    certificate = certificates.issue_certificate(report, identity)
    certificates.write_certificate(panel.folder, certificate)
    return report, certificate


def _require_train_scaler(scaler: Scaler, panel: Panel, train_rows: int) -> None:
    """Fit the scaler again on the training rows of the stored panel, without the later ones."""
    refitted = None
    if scaler.train_last < train_rows:
        rows = slice(scaler.train_first, scaler.train_last + 1)
        arrays = panel.numpy("features")[:, :train_rows], panel.numpy("valid")[:, :train_rows]
        refitted = refit_scaler(scaler, *arrays, rows, panel.symbols)
    if refitted is None or refitted.sha256 != scaler.sha256:
        raise DataError(
            "scaler must be fitted on this panel's training rows and no other",
            was=f"rows {scaler.train_first} to {scaler.train_last}",
            where=f"training ends before row {train_rows}",
            remedy="Run: tradingbot features build",
        )


def _scope(spec: FeatureSpec) -> claims.Scope:
    return "market" if max(spec.raw.stage, spec.network.stage) else "symbol"


def _require_same_content(panel: Panel, inputs: MarketInputs, specs: Sequence[FeatureSpec]) -> None:
    """Compare the stored tensors with fresh ones, so that the proof is about what is stored."""
    fresh = panel_tensors(inputs, specs)
    is_same = (
        panel.manifest.spec_sha256 == spec_hash(specs)
        and panel.symbols == inputs.symbols
        and all(
            values.shape == panel.numpy(name).shape
            and not differs(values, np.asarray(panel.numpy(name))).any()
            for name, values in fresh.items()
        )
    )
    if not is_same:
        rule = "panel must hold what its dataset and specs give"
        remedy = "Delete that folder and run: tradingbot features build"
        raise DataError(rule, was="other values", where=str(panel.folder), remedy=remedy)
