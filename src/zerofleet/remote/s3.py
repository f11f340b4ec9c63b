"""A folder of an S3 bucket: objects that are whole or not there.

    folder = S3Folder("s3://bucket/runs/c4")
    folder.put("blobs/77ab…", data)
    folder.create("manifests/000000001.json", data)    # False where it exists

Credentials, region and endpoint come from where boto3 takes them: AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL_S3, a profile, or the role of the machine. None is ever part
of a URL, a setting or a message. The server checks each request's SHA-256.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from io import BytesIO
from typing import Any, NamedTuple

from zerofleet.errors import BadText, TooLarge, ZerofleetError
from zerofleet.metrics import needed

BUCKET = r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"
PREFIX = r"[A-Za-z0-9!_.*'()-]+(?:/[A-Za-z0-9!_.*'()-]+)*"
MULTIPART_BYTES = 8 << 20
"""Larger objects are sent in parts of this size. Unless all arrive there is no object."""
DELETED_AT_ONCE = 1000
"""S3's limit."""
CONNECT_S, READ_S, NUM_TRIES = 10, 60, 5


class RemoteUnreachable(ZerofleetError, ConnectionError):
    """S3 cannot be reached, or could not answer. The same call may be repeated later."""


class RemoteRefused(ZerofleetError):
    """S3 refused: wrong or missing credentials, no permission, no such bucket or object."""


class NoSuchObject(RemoteRefused):
    """There is no object of this name."""


class ObjectExists(ZerofleetError):
    """An object of this name exists."""


class ObjectFacts(NamedTuple):
    """What a listing says of an object."""

    name: str
    """Below the folder."""
    modified: datetime


def checked_url(url: str) -> str:
    """Returns the URL of a folder, without a slash at its end; BadText unless it is one."""
    url = url.rstrip("/")
    if not re.fullmatch(rf"s3://{BUCKET}(?:/{PREFIX})?", url):
        raise BadText(f"{url!r} is no folder in S3; write s3://BUCKET or s3://BUCKET/PREFIX")
    return url


class S3Folder:
    """Objects below a prefix. For any thread."""

    def __init__(self, url: str) -> None:
        self.url = checked_url(url)
        self._bucket, _, prefix = self.url.removeprefix("s3://").partition("/")
        self._prefix = f"{prefix}/" if prefix else ""
        boto3 = needed("boto3", "zerofleet[cloud]")
        self._botocore = needed("botocore.exceptions", "zerofleet[cloud]")
        settings = needed("botocore.config", "zerofleet[cloud]").Config(
            connect_timeout=CONNECT_S,
            read_timeout=READ_S,
            retries={"max_attempts": NUM_TRIES, "mode": "standard"},
            # Ceph and others know the older checksums only; signed bodies are checked by all.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"payload_signing_enabled": True},
        )
        self._transfer = needed("boto3.s3.transfer", "zerofleet[cloud]").TransferConfig(
            multipart_threshold=MULTIPART_BYTES, multipart_chunksize=MULTIPART_BYTES
        )
        with self._errors():
            # A session of its own: the default one keeps credentials of the first use.
            self._client = boto3.session.Session().client("s3", config=settings)

    def put(self, name: str, data: bytes) -> None:
        """Writes an object, or replaces it."""
        with self._errors(name):
            self._client.upload_fileobj(
                BytesIO(data), self._bucket, self._prefix + name, Config=self._transfer
            )

    def create(self, name: str, data: bytes) -> bool:
        """Writes an object unless it exists; returns whether it did. Of several writers one
        succeeds. After an answer that was lost, the call may fail though it wrote the object."""
        key = self._prefix + name
        try:
            with self._errors(name):
                self._client.put_object(Bucket=self._bucket, Key=key, Body=data, IfNoneMatch="*")
        except ObjectExists:
            return False
        return True

    def get(self, name: str, max_bytes: int) -> bytes:
        """An object of at most that size."""
        with self._errors(name):
            answer = self._client.get_object(Bucket=self._bucket, Key=self._prefix + name)
            size_bytes = int(answer["ContentLength"])
            if size_bytes > max_bytes:
                answer["Body"].close()
                raise TooLarge(
                    f"{self.url}/{name} has {size_bytes:,} bytes; {max_bytes:,} are allowed"
                )
            data: bytes = answer["Body"].read()
        return data

    def names(self, below: str = "") -> Iterator[ObjectFacts]:
        """The objects whose names start with `below`, sorted."""
        for page in self._pages("list_objects_v2", below):
            for found in page.get("Contents", []):
                name = found["Key"].removeprefix(self._prefix)
                yield ObjectFacts(name, found["LastModified"])

    def folders(self) -> list[str]:
        """The names of the folders in this one."""
        pages = self._pages("list_objects_v2", "", Delimiter="/")
        keys = [found["Prefix"] for page in pages for found in page.get("CommonPrefixes", [])]
        return [key.removeprefix(self._prefix).rstrip("/") for key in keys]

    def delete(self, names: Iterable[str]) -> None:
        keys = [{"Key": self._prefix + name} for name in names]
        for first in range(0, len(keys), DELETED_AT_ONCE):
            some = {"Objects": keys[first : first + DELETED_AT_ONCE], "Quiet": True}
            with self._errors():
                answer = self._client.delete_objects(Bucket=self._bucket, Delete=some)
            for fault in answer.get("Errors", []):
                raise RemoteRefused(
                    f"{self.url}: {fault['Key']} cannot be deleted: {fault['Code']}"
                )

    def abandon_uploads(self, before: datetime) -> int:
        """Deletes what uploads in parts have left that began before this time and never ended;
        returns how many there were."""
        num_abandoned = 0
        for page in self._pages("list_multipart_uploads", ""):
            for upload in page.get("Uploads", []):
                if upload["Initiated"] < before:
                    with self._errors():
                        self._client.abort_multipart_upload(
                            Bucket=self._bucket, Key=upload["Key"], UploadId=upload["UploadId"]
                        )
                    num_abandoned += 1
        return num_abandoned

    def _pages(self, call: str, below: str, **arguments: Any) -> Iterator[Any]:
        with self._errors():
            yield from self._client.get_paginator(call).paginate(
                Bucket=self._bucket, Prefix=self._prefix + below, **arguments
            )

    @contextmanager
    def _errors(self, name: str = "") -> Iterator[None]:
        """Raises botocore's errors as those of this module."""
        where = f"{self.url}/{name}" if name else self.url
        known = self._botocore
        try:
            yield
        except known.ClientError as error:
            raise self._refusal(error.response, where) from None
        except (known.NoCredentialsError, known.PartialCredentialsError):
            raise RemoteRefused(
                f"{where}: no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
                "AWS_PROFILE, or give the machine a role"
            ) from None
        except known.NoRegionError:
            raise RemoteRefused(f"{where}: no region; set AWS_DEFAULT_REGION") from None
        except (known.HTTPClientError, known.ConnectionError) as error:
            raise RemoteUnreachable(f"{where} cannot be reached: {error}") from None
        except known.BotoCoreError as error:
            raise RemoteRefused(f"{where}: {error}") from None

    def _refusal(self, response: dict[str, Any], where: str) -> ZerofleetError:
        code = str(response["Error"]["Code"])
        status = int(response["ResponseMetadata"]["HTTPStatusCode"])
        if status == 412:
            return ObjectExists(f"{where} exists")
        if code in ("NoSuchKey", "404"):
            return NoSuchObject(f"{where} does not exist")
        if status >= 500 or code in ("ConditionalRequestConflict", "RequestTimeout", "SlowDown"):
            return RemoteUnreachable(f"{where} cannot be reached: {code} ({status})")
        why = REFUSALS.get(code, "")
        return RemoteRefused(f"{where} refused: {code}{why}")


REFUSALS = {
    "SignatureDoesNotMatch": "; the secret is wrong (AWS_SECRET_ACCESS_KEY)",
    "InvalidAccessKeyId": "; the access key is unknown there (AWS_ACCESS_KEY_ID)",
    "AccessDenied": "; these credentials may not do this",
    "NoSuchBucket": "; create the bucket first",
    "ExpiredToken": "; the credentials have expired",
}
