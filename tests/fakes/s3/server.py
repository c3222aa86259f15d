"""Objects in memory behind the S3 protocol: put, multipart upload, get, head, list, delete.

An object is whole once its upload was completed. Requests of an unknown access key are denied, as
are requests without one; `fail_after` lets a store stop answering in the middle of a command.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

ACCESS_KEY, SECRET_KEY = "tests-access", "tests-s3cret-never-shown"
_HEADER = '<?xml version="1.0" encoding="UTF-8"?>'


class S3Server(ThreadingHTTPServer):
    """Buckets of one account."""

    daemon_threads = True

    def __init__(self, *buckets: str) -> None:
        self.objects: dict[str, dict[str, bytes]] = {bucket: {} for bucket in buckets}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.written: list[str] = []
        """Keys in the order in which they became visible."""
        self.fail_after: int | None = None
        """Writes after which every write is refused; None: never."""
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that were killed."""

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def s3_server(*buckets: str) -> Iterator[S3Server]:
    server = S3Server(*buckets)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: S3Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._serve(self._get, body=False)

    def do_GET(self) -> None:
        self._serve(self._list if "list-type" in self._query else self._get)

    def do_PUT(self) -> None:
        self._serve(self._put)

    def do_POST(self) -> None:
        self._serve(self._post)

    def do_DELETE(self) -> None:
        self._serve(self._delete)

    @property
    def _query(self) -> dict[str, str]:
        found = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        return {name: values[0] for name, values in found.items()}

    def _serve(self, answer: object, body: bool = True) -> None:
        self._content = self._read()
        bucket, _, key = unquote(urlsplit(self.path).path).lstrip("/").partition("/")
        if f"Credential={ACCESS_KEY}/" not in self.headers.get("Authorization", ""):
            return self._answer(403, _error("AccessDenied"), body=body)
        if bucket not in self.server.objects:
            return self._answer(404, _error("NoSuchBucket"), body=body)
        return self._answer(*answer(self.server.objects[bucket], key), body=body)  # type: ignore[operator]

    def _read(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            content = self._read_chunks()
        else:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "aws-chunked" not in self.headers.get("Content-Encoding", ""):
            return content
        whole = b""
        while content:
            size, _, content = content.partition(b"\r\n")
            count = int(size.partition(b";")[0], 16)
            whole, content = whole + content[:count], content[count + 2 :] if count else b""
        return whole

    def _read_chunks(self) -> bytes:
        whole = b""
        while count := int(self.rfile.readline().partition(b";")[0], 16):
            whole += self.rfile.read(count)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def _answer(
        self, code: int, content: bytes, headers: dict[str, str] | None = None, body: bool = True
    ) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def _get(self, objects: dict[str, bytes], key: str) -> tuple[int, bytes, dict[str, str]]:
        if not key:
            return 200, b"", {}
        if key not in objects:
            return 404, _error("NoSuchKey"), {}
        content = objects[key]
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        headers = {"ETag": '"1"', "Last-Modified": "Wed, 18 Nov 2026 10:00:00 GMT"}
        if span is None or self.command == "HEAD":
            return 200, content, headers
        first, last = int(span[1]), int(span[2] or len(content) - 1)
        headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        return 206, content[first : last + 1], headers

    def _list(self, objects: dict[str, bytes], _: str) -> tuple[int, bytes]:
        prefix = self._query.get("prefix", "")
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(objects[key])}</Size>"
            "<LastModified>2026-11-18T10:00:00.000Z</LastModified></Contents>"
            for key in sorted(objects)
            if key.startswith(prefix)
        )
        text = f"<ListBucketResult><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>"
        return 200, (_HEADER + text).encode()

    def _put(self, objects: dict[str, bytes], key: str) -> tuple[int, bytes, dict[str, str]]:
        upload = self._query.get("uploadId")
        if upload is not None:
            self.server.uploads[upload][int(self._query["partNumber"])] = self._content
            return 200, b"", {"ETag": '"1"'}
        code, text = self._keep(objects, key, self._content)
        return code, text, {"ETag": '"1"'}

    def _post(self, objects: dict[str, bytes], key: str) -> tuple[int, bytes]:
        if "uploads" in self._query:
            number = str(len(self.server.uploads) + 1)
            self.server.uploads[number] = {}
            text = f"<UploadId>{number}</UploadId>"
            return 200, (
                f"{_HEADER}<InitiateMultipartUploadResult>{text}</InitiateMultipartUploadResult>"
            ).encode()
        parts = self.server.uploads.pop(self._query["uploadId"])
        code, text = self._keep(objects, key, b"".join(parts[number] for number in sorted(parts)))
        root = "CompleteMultipartUploadResult"
        done = f"{_HEADER}<{root}><ETag>1</ETag></{root}>".encode()
        return code, done if code == 200 else text

    def _delete(self, objects: dict[str, bytes], key: str) -> tuple[int, bytes]:
        objects.pop(key, None)
        return 204, b""

    def _keep(self, objects: dict[str, bytes], key: str, content: bytes) -> tuple[int, bytes]:
        limit = self.server.fail_after
        if limit is not None and len(self.server.written) >= limit:
            return 403, _error("AccessDenied")
        objects[key] = content
        self.server.written.append(key)
        return 200, b""


def _error(code: str) -> bytes:
    return f"{_HEADER}<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
