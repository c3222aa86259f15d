"""Objects of a store that is named by a URL (S3, Google Cloud, Azure), through PyArrow.

Stores have no rename: an object is whole once its write was closed, and absent before. Credentials
come from the environment, never from the URL, and nothing that a store says is shown but its code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from shutil import copyfileobj
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tradingbot.data.atomic import atomic_file
from tradingbot.domain.errors import ConfigError, StorageError, require_known

STORE_SCHEMES = ("s3", "gs", "abfs")
_OPTIONS = ("region", "endpoint")
"""Of an S3 URL, after `?`."""
_CONNECT_S, _REQUEST_S, _ATTEMPTS = 5.0, 60.0, 3
_CODE = re.compile(r"AWS Error ([A-Z_]+)|\bstatus(?: code)?[ :=]*([1-5]\d\d)\b")
"""What of a store's words may be shown."""
_BLOCK = 1 << 20
_KEYS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET",
}


class ObjectStore:
    """Objects below one place of a store."""

    def __init__(self, files: Any, root: str, shown: str) -> None:
        """Open nothing yet.

        Args:
            files: A PyArrow file system.
            root: Bucket and folder.
            shown: How the place is called in messages.
        """
        self._files, self._root, self.shown = files, root.rstrip("/"), shown

    def require_bucket(self) -> None:
        """Refuse a store without the bucket, before anything is made that it could not take.

        Raises:
            StorageError: If it is not there, or the store refuses.
        """
        from pyarrow.fs import FileType

        with self._told():
            found = self._files.get_file_info(self._root.partition("/")[0])
        if found.type == FileType.NotFound:
            raise self._refused("the bucket of an object store must be there", "none")

    def read(self, name: str) -> bytes | None:
        """Return the content of an object; None where there is none.

        Raises:
            StorageError: If the store refuses or cannot be reached.
        """
        try:
            with self._told(), self._files.open_input_stream(self._place(name)) as stream:
                content: bytes = stream.read()
        except FileNotFoundError:
            return None
        return content

    def write(self, name: str, content: bytes) -> None:
        """Make or replace an object; readers see what was there or all of this."""
        with self._told(), self._files.open_output_stream(self._place(name)) as stream:
            stream.write(content)

    def send(self, name: str, path: Path) -> None:
        """Make an object of a file's content."""
        with (
            path.open("rb") as source,
            self._told(),
            self._files.open_output_stream(self._place(name)) as stream,
        ):
            copyfileobj(source, stream, _BLOCK)

    def bring(self, name: str, path: Path) -> None:
        """Make a file of an object's content, whole or not at all.

        Raises:
            StorageError: If there is no such object.
        """
        try:
            with (
                self._told(),
                self._files.open_input_stream(self._place(name)) as stream,
                atomic_file(path) as temporary,
                temporary.open("wb") as target,
            ):
                copyfileobj(stream, target, _BLOCK)
        except FileNotFoundError as e:
            raise self._refused("an object that is pointed at must be there", "none") from e

    def has(self, name: str) -> bool:
        """Tell whether there is such an object."""
        with self._told():
            return bool(self._files.get_file_info(self._place(name)).is_file)

    def remove(self, name: str) -> None:
        """Remove an object, if it is there."""
        with self._told():
            if self.has(name):
                self._files.delete_file(self._place(name))

    def names(self, folder: str) -> list[str]:
        """Return the names of all objects below a folder, sorted."""
        from pyarrow.fs import FileSelector

        place = self._place(folder)
        with self._told():
            found = self._files.get_file_info(
                FileSelector(place, allow_not_found=True, recursive=True)
            )
        return sorted(each.path[len(self._root) + 1 :] for each in found if each.is_file)

    def _place(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what a store refuses into one line; of its own words only a code is shown."""
        try:
            yield
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as e:
            code = _CODE.search(str(e))
            told = next(filter(None, code.groups())) if code else "no answer"
            raise self._refused("an object store must answer", told) from None

    def _refused(self, rule: str, was: str) -> StorageError:
        scheme = self.shown.partition("://")[0]
        keys = _KEYS.get(scheme, "its credentials")
        remedy = f"Check bucket, network and credentials ({keys}); nothing was lost"
        return StorageError(rule, was=was, where=self.shown, remedy=remedy)


def open_store(url: str, environment: Mapping[str, str] = os.environ) -> ObjectStore:
    """Open what a URL names; the store itself is first asked by the first object.

    Args:
        url: `s3://BUCKET/FOLDER?region=…&endpoint=…`, `gs://BUCKET/FOLDER` or
            `abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/FOLDER`.
        environment: Holds AWS_ENDPOINT_URL, AWS_REGION and credentials.

    Raises:
        ConfigError: If it is no such URL, or holds a secret.
    """
    from pyarrow import fs

    require_store_url(url)
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    root = f"{parts.hostname}{parts.path}".rstrip("/")
    shown = f"{parts.scheme}://{root}"
    if parts.scheme == "gs":
        files = fs.GcsFileSystem(retry_time_limit=timedelta(seconds=_REQUEST_S))
        return ObjectStore(files, root, shown)
    if parts.scheme == "abfs":
        account = (parts.hostname or "").partition(".")[0]
        files = fs.AzureFileSystem(account_name=account)
        return ObjectStore(files, f"{parts.username}{parts.path}", shown)
    named = (environment.get("AWS_ENDPOINT_URL_S3"), environment.get("AWS_ENDPOINT_URL"))
    regions = (environment.get("AWS_REGION"), environment.get("AWS_DEFAULT_REGION"), "us-east-1")
    files = fs.S3FileSystem(
        region=options.get("region") or next(filter(None, regions)),
        endpoint_override=options.get("endpoint") or next(filter(None, named), None),
        connect_timeout=_CONNECT_S,
        request_timeout=_REQUEST_S,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    )
    return ObjectStore(files, root, shown)


def require_store_url(url: str) -> None:
    """Refuse what names no store, and what holds a secret, of which nothing is shown.

    Raises:
        ConfigError: Saying why.
    """
    scheme, _, rest = url.partition("://")
    require_known(scheme, STORE_SCHEMES, "an object store must be of a known kind")
    try:
        parts = urlsplit(url)
    except ValueError:
        rule, remedy = "the URL of an object store must be one", "Write e.g. s3://BUCKET/FOLDER"
        raise ConfigError(rule, was=f"a damaged one of {scheme!r}", remedy=remedy) from None
    options = dict(parse_qsl(parts.query))
    secret = parts.password is not None or (parts.username is not None and scheme != "abfs")
    if secret or set(options) - set(_OPTIONS) or any("@" in each for each in options.values()):
        raise ConfigError(
            f"the URL of an object store must hold no credentials and no options but "
            f"{' and '.join(_OPTIONS)}",
            was=f"a URL of {scheme!r} with more",
            remedy=f"Leave them out of the URL and set {_KEYS[scheme]}",
        )
    if not parts.hostname or (scheme == "abfs" and not parts.username):
        raise ConfigError(
            "the URL of an object store must name a bucket",
            was=f"{scheme}://{rest.partition('?')[0][:40]}",
            remedy="Write e.g. s3://BUCKET/FOLDER",
        )
