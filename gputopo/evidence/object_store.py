"""Saved nodes in an object store (`s3://BUCKET/PREFIX`, `gs://…`): by fsspec, imported for such an address only."""

from __future__ import annotations

from typing import Any

from gputopo.errors import GputopoError
from gputopo.evidence import limits

_MOST = 100_000  # objects below an address


def is_address(path: str) -> bool:
    """
    >>> is_address("s3://bucket/nodes/"), is_address("nodes/a17.tar.gz")
    (True, False)
    """
    scheme, mark, _ = path.partition("://")
    return bool(mark) and scheme.isalnum()


def objects(address: str) -> list[str]:
    """The address itself, or all objects below it, sorted. Raises GputopoError."""
    store, path = _store(address)
    try:
        below = [str(one) for one in store.find(path)][:_MOST]
    except Exception as error:
        raise _trouble(error, address) from error
    if not below:
        raise GputopoError("nothing is there", address)
    return sorted(str(store.unstrip_protocol(one)) for one in below)


def read(address: str, most: int = limits.TEXT_BYTES) -> bytes:
    """All bytes of one object, at most `most`. Raises GputopoError."""
    store, path = _store(address)
    try:
        with store.open(path, "rb") as file:
            data = bytes(file.read(most + 1))
    except Exception as error:
        raise _trouble(error, address) from error
    if len(data) > most:
        raise GputopoError(f"more than {most >> 20} MiB", address)
    return data


def _store(address: str) -> tuple[Any, str]:
    scheme = address.partition("://")[0]
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise GputopoError(
            f"{scheme}:// needs fsspec, which is not installed", address, "pip install 'gputopo[dask]' s3fs"
        ) from None
    try:
        store, path = url_to_fs(address)
    except ImportError as error:  # fsspec's own word for it: Install s3fs to access S3
        raise GputopoError(str(error).splitlines()[0], address, "pip install s3fs (gcsfs, adlfs)") from None
    except Exception as error:
        raise _trouble(error, address) from error
    return store, str(path)


def _trouble(error: Exception, address: str) -> GputopoError:
    """What the stores' own libraries raise has no common type."""
    said = str(error).strip().splitlines()
    return GputopoError(said[0] if said else type(error).__name__, address)
