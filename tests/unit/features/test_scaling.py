"""Scalers equal scikit-learn's, see training rows only and survive storage unchanged."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn import preprocessing

from tradingbot.domain.errors import DataError, StorageError
from tradingbot.domain.seeding import stream
from tradingbot.features.scaler_files import load_scaler, save_scaler
from tradingbot.features.scaling import SCALER_KINDS, Scaler, ScalerOptions, fit_scaler

NAMES = ("a", "b", "c")
SYMBOLS = ("X", "Y", "Z", "W")
TRAIN = slice(5, 60)
REFERENCE = {
    "standard": preprocessing.StandardScaler,
    "minmax": preprocessing.MinMaxScaler,
    "robust": preprocessing.RobustScaler,
}


@pytest.fixture
def features() -> np.ndarray:
    rng = stream(1, "scaling")
    return rng.normal(size=(4, 100, 3)) * np.array([1.0, 1e-4, 1e6]) + np.array([0.0, 5.0, -3e6])


@pytest.fixture
def valid() -> np.ndarray:
    return stream(2, "scaling").random((4, 100)) > 0.2


def fit(kind: str, features: np.ndarray, valid: np.ndarray, **options) -> Scaler:
    return fit_scaler(
        kind,  # type: ignore[arg-type]
        features,
        valid,
        TRAIN,
        feature_names=NAMES,
        symbols=SYMBOLS,
        options=ScalerOptions(**options),
    )


@pytest.mark.parametrize("kind", SCALER_KINDS)
def test_pooled_scaler_equals_scikit_learn(kind: str, features, valid) -> None:
    reference = REFERENCE[kind]().fit(features[:, TRAIN][valid[:, TRAIN]])

    scaled = fit(kind, features, valid).transform(features, feature_names=NAMES)

    expected = reference.transform(features.reshape(-1, 3)).reshape(features.shape)
    np.testing.assert_allclose(scaled, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kind", SCALER_KINDS)
def test_per_symbol_scaler_equals_scikit_learn_symbol_by_symbol(kind: str, features, valid) -> None:
    scaled = fit(kind, features, valid, pooling="per_symbol").transform(
        features, feature_names=NAMES
    )

    for n in range(4):
        reference = REFERENCE[kind]().fit(features[n, TRAIN][valid[n, TRAIN]])
        np.testing.assert_allclose(
            scaled[n], reference.transform(features[n]), rtol=1e-11, atol=1e-11
        )


@pytest.mark.parametrize("pooling", ["pooled", "per_symbol"])
@pytest.mark.parametrize("kind", SCALER_KINDS)
def test_scaler_with_other_rows_outside_training_is_the_same(
    kind, pooling, features, valid
) -> None:
    before = fit(kind, features, valid, pooling=pooling)
    features[:, : TRAIN.start] = np.nan
    features[:, TRAIN.stop :] = np.inf
    valid[:, TRAIN.stop :] = ~valid[:, TRAIN.stop :]

    after = fit(kind, features, valid, pooling=pooling)

    assert after.sha256 == before.sha256


@pytest.mark.parametrize("moved", [TRAIN.start, TRAIN.stop - 1])
def test_scaler_with_an_extreme_first_or_last_training_row_changes(moved, features, valid) -> None:
    valid[:] = True
    before = fit("minmax", features, valid)
    features[0, moved] = 1e9

    assert fit("minmax", features, valid).sha256 != before.sha256


def test_scaler_fitted_on_row_numbers_equals_the_slice(features, valid) -> None:
    def rows(train):
        return fit_scaler(
            "robust", features, valid, train, feature_names=NAMES, symbols=SYMBOLS
        ).sha256

    assert rows(np.arange(100)[TRAIN]) == rows(TRAIN)
    assert rows(np.delete(np.arange(100)[TRAIN], 7)) != rows(TRAIN)


@pytest.mark.parametrize("kind", SCALER_KINDS)
def test_constant_feature_is_centred_on_zero(kind: str, features, valid) -> None:
    features[..., 1] = 0.1

    scaled = fit(kind, features, valid).transform(features, feature_names=NAMES)

    np.testing.assert_allclose(scaled[..., 1], 0.0, atol=1e-15)


def test_constant_feature_is_refused_where_asked(features, valid) -> None:
    features[..., 1] = 0.1

    with pytest.raises(DataError, match="must vary in training, was b"):
        fit("standard", features, valid, constant="refuse")


def test_values_outside_the_training_range_stay_outside_unless_clipped(features, valid) -> None:
    valid[:] = True
    features[0, 80, 0] = 1e3

    free = fit("minmax", features, valid).transform(features, feature_names=NAMES)
    clipped = fit("minmax", features, valid, clip=2.0).transform(features, feature_names=NAMES)

    assert free[0, 80, 0] > 100
    assert clipped[0, 80, 0] == 2.0


def test_invalid_cells_become_zero_and_dtype_is_kept(features, valid) -> None:
    features[~valid] = np.nan
    scaler = fit("standard", features.astype(np.float32), valid)

    scaled = scaler.transform(features.astype(np.float32), valid, feature_names=NAMES)

    assert scaled.dtype == np.float32
    assert np.isfinite(scaled).all()
    assert not scaled[~valid].any()


def test_inverse_gives_back_the_features(features, valid) -> None:
    for pooling in ("pooled", "per_symbol"):
        scaler = fit("robust", features, valid, pooling=pooling)
        scaled = scaler.transform(features, feature_names=NAMES)

        back = scaler.inverse(scaled, feature_names=NAMES)

        np.testing.assert_allclose(back, features, rtol=1e-9)


@pytest.mark.parametrize("names", [("a", "c", "b"), ("a", "b"), ("a", "b", "c", "d")])
def test_other_features_or_another_order_are_refused(names, features, valid) -> None:
    scaler = fit("standard", features, valid)

    with pytest.raises(DataError, match="in that order"):
        scaler.transform(features, feature_names=names)


def test_valid_value_that_is_not_finite_is_refused(features, valid) -> None:
    valid[1, 20] = True
    features[1, 20, 2] = np.nan

    with pytest.raises(DataError, match="must be finite, was c"):
        fit("standard", features, valid)


def test_symbol_without_training_rows_is_refused_per_symbol(features, valid) -> None:
    valid[2, TRAIN] = False

    fit("standard", features, valid)
    with pytest.raises(DataError, match=r"\(Z\)"):
        fit("standard", features, valid, pooling="per_symbol")


def test_unknown_kind_and_empty_training_are_refused(features, valid) -> None:
    with pytest.raises(DataError, match="Did you mean 'minmax'"):
        fit("minmx", features, valid)
    with pytest.raises(DataError, match="must have a row"):
        fit_scaler("minmax", features, valid, slice(9, 9), feature_names=NAMES, symbols=SYMBOLS)


@pytest.mark.parametrize("pooling", ["pooled", "per_symbol"])
def test_stored_scaler_loads_equal_and_frozen(pooling, features, valid, tmp_path) -> None:
    scaler = fit("robust", features, valid, pooling=pooling, clip=5.0)

    loaded = load_scaler(save_scaler(scaler, tmp_path))

    assert loaded.sha256 == scaler.sha256
    np.testing.assert_array_equal(
        loaded.transform(features, feature_names=NAMES),
        scaler.transform(features, feature_names=NAMES),
    )
    with pytest.raises(ValueError, match="read-only"):
        loaded.centre[0] = 1.0
    with pytest.raises(FrozenInstanceError):
        loaded.clip = 1.0  # type: ignore[misc]


@pytest.mark.parametrize("file", ["scaler.json", "scaler.safetensors"])
def test_damaged_scaler_is_refused(file: str, features, valid, tmp_path) -> None:
    folder = save_scaler(fit("standard", features, valid), tmp_path)
    content = bytearray((folder / file).read_bytes())
    content[-20] ^= 1
    (folder / file).write_bytes(bytes(content))

    with pytest.raises(StorageError, match="as it was stored"):
        load_scaler(folder)


def test_edited_record_is_refused(features, valid, tmp_path) -> None:
    folder = save_scaler(fit("standard", features, valid), tmp_path)
    record = folder / "scaler.json"
    record.write_text(record.read_text().replace('"train_last": 59', '"train_last": 58'))

    with pytest.raises(StorageError, match="other content"):
        load_scaler(folder)
