"""The scaler of a panel: fitted once on its training rows, stored beside it, loaded ever after.

Training, counterfactual data and acting load the same statistics; the certificate names them by
hash. A panel with covariates has a second scaler, of these.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

from tradingbot.configuration.pipeline import ScalingConfig
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import StorageError, UncertifiedPanelError
from tradingbot.features.panel import Panel
from tradingbot.features.scaler_files import SCALERS_FOLDER, find_scaler, save_scaler
from tradingbot.features.scaling import Scaler, ScalerOptions, fit_scaler

Columns = Literal["features", "covariates"]
COVARIATES = ScalingConfig(kind="standard", pooling="pooled")
"""How covariates are scaled, whatever the features' scaling."""


def panel_scalers(panel: Panel, train: IndexRange, scaling: ScalingConfig) -> tuple[Scaler, ...]:
    """Return the scaler of a panel's features, and of its covariates where it has any.

    Args:
        panel: Behind the gate: then what is stored is loaded, and what is fitted is stored. One
            without a certificate may hold anything: it is fitted on each time, and nothing stored.
        train: Rows to fit on.
        scaling: Of the features.

    Raises:
        UncertifiedPanelError: If the certificate names another scaler of the same rows.
        DataError: If there is nothing to fit on.
    """
    features = _load_or_fit(panel, train, scaling, "features")
    certificate = panel.certificate
    if (
        certificate is not None
        and certificate.scaler_fit == features.fitted_on
        and certificate.scaler_sha256 != features.sha256
    ):
        raise UncertifiedPanelError(
            "scaler must be the one that the certificate names",
            was=f"{features.sha256[:16]}, not {str(certificate.scaler_sha256)[:16]}",
            where=str(panel.folder / SCALERS_FOLDER),
            remedy="Delete that folder and run: tradingbot features prove-causal",
        )
    if not panel.manifest.covariates:
        return (features,)
    return (features, _load_or_fit(panel, train, COVARIATES, "covariates"))


def fit_panel_scaler(
    panel: Panel, train: IndexRange, scaling: ScalingConfig, columns: Columns = "features"
) -> Scaler:
    """Fit a scaler on the training rows of a panel."""
    names = panel.manifest.features if columns == "features" else panel.manifest.covariates
    return fit_scaler(
        scaling.kind,
        panel.numpy(columns),
        panel.numpy("valid"),
        slice(train.start, train.stop),
        feature_names=names,
        symbols=panel.symbols,
        options=ScalerOptions(pooling=scaling.pooling),
    )


def store_panel_scaler(panel: Panel, scaler: Scaler) -> None:
    """Store a scaler beside the panel that it was fitted on.

    Raises:
        StorageError: If the disk refuses.
    """
    folder = panel.folder / SCALERS_FOLDER
    save_scaler(scaler, folder, panel_sha256=panel.manifest.sha256)


def _load_or_fit(
    panel: Panel, train: IndexRange, scaling: ScalingConfig, columns: Columns
) -> Scaler:
    if panel.certificate is None:
        return fit_panel_scaler(panel, train, scaling, columns)
    names = panel.manifest.features if columns == "features" else panel.manifest.covariates
    wanted = Scaler.describe_fit(
        scaling.kind, scaling.pooling, (train.start, train.stop - 1), None, names
    )
    found = find_scaler(panel.folder / SCALERS_FOLDER, wanted, panel_sha256=panel.manifest.sha256)
    if found is not None:
        return found
    fitted = fit_panel_scaler(panel, train, scaling, columns)
    if fitted.fitted_on != wanted:
        raise UncertifiedPanelError(
            f"scaler must be fitted as asked: {wanted}",
            was=fitted.fitted_on,
            where=str(panel.folder),
            remedy="Please report it: figures of a scaler of other rows must not be used",
        )
    with suppress(StorageError):  # a disk that is only read changes nothing but the next start
        store_panel_scaler(panel, fitted)
    return fitted
