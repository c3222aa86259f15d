"""A record that holds its own hash: an edit is found, a field of a later version is none."""

from __future__ import annotations

import json

import pytest

from tradingbot.data.sealed_record import SealedRecord


class Place(SealedRecord):
    street: str = "a"


class NewerPlace(Place):
    floor: int = 0


class Visit(SealedRecord):
    name: str
    place: Place = Place()
    count: int = 1


class NewerVisit(Visit):
    place: NewerPlace = NewerPlace()
    note: str = ""


def test_sealed_record_is_read_back_as_sealed() -> None:
    sealed = Visit(name="x").sealed()
    assert sealed.is_sealed()
    assert Visit.model_validate_json(sealed.model_dump_json()).is_sealed()
    assert not Visit(name="x").is_sealed()


@pytest.mark.parametrize(
    "change", [{"name": "y"}, {"count": 2}, {"place": {"street": "b", "sha256": ""}}]
)
def test_one_edited_field_is_found(change: dict[str, object]) -> None:
    content = json.loads(Visit(name="x", count=3).sealed().model_dump_json())
    assert not Visit.model_validate(content | change).is_sealed()


def test_record_of_an_older_version_stays_sealed_when_fields_are_added() -> None:
    old = Visit(name="x", count=3).sealed().model_dump_json()
    read = NewerVisit.model_validate_json(old)
    assert read.is_sealed()
    assert read.sealed().is_sealed()
    forged = NewerVisit.model_validate_json(old.replace('"count":3', '"count":4'))
    assert not forged.is_sealed()
