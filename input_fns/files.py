"""Files by pattern: plain, gzip-compressed, and members of a zip archive.

TensorFlow reads the first two by itself. A zip member is copied to a folder of this process that
is deleted when the process ends.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import contextlib
import dataclasses
import fnmatch
import functools
import glob
import gzip
import hashlib
import os
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from typing import IO, Any

from .errors import InputError

_verified: set[tuple] = set()
_ZIP_MEMBER = re.compile(r"^(.*\.zip)(?:/(.+))?$", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class DataFile:
    """One file to read.

    Attributes:
        name: how messages call it: its path, or 'archive.zip/member'.
        path: the file itself, or the archive.
        member: its name in the archive, or None.
        compression: '', 'GZIP' or 'ZLIB', as TensorFlow calls it.
    """

    name: str
    path: str
    member: str | None = None
    compression: str = ""

    def open(self) -> contextlib.AbstractContextManager[IO[bytes]]:
        """Opens it for reading the decompressed bytes."""
        if self.member is not None:
            return _open_member(self.path, self.member)
        if self.compression == "GZIP":
            return _open_gzip(self.path)
        if self.compression == "ZLIB":
            return _open_zlib(self.path)
        return _open_plain(self.path)

    def on_disk(self) -> str:
        """Returns a path that TensorFlow can read."""
        if self.member is None:
            return self.path
        return _extract(self)


def find_files(
    parameter: str, patterns: str | Sequence[str], member_ending: str, compression: str | None
) -> list[DataFile]:
    """Lists the files that the patterns name, in a fixed order, each seen to be readable.

    Args:
        parameter: the name of the parameter, for messages, such as 'CsvReader.files'.
        patterns: paths or glob patterns; 'a.zip' is the only member of the archive with the
            ending, 'a.zip/b.csv' the named one.
        member_ending: ending of the members that 'a.zip' stands for, such as '.csv'.
        compression: '', 'GZIP' or 'ZLIB'; None goes by the name of each file.

    Returns:
        The files in the order of the patterns, sorted within a pattern.

    Raises:
        InputError: a pattern without files; a folder; an unreadable, empty or damaged file.
    """
    patterns = [patterns] if isinstance(patterns, (str, os.PathLike)) else list(patterns)
    if not patterns:
        raise InputError(f"{parameter} is empty; name at least one file or pattern.")
    found: dict[str, DataFile] = {}
    for pattern in patterns:
        if not isinstance(pattern, (str, os.PathLike)):
            raise InputError(f"{parameter} has {pattern!r}; give paths or patterns as strings.")
        for file in _match(parameter, os.path.expanduser(os.fspath(pattern)), member_ending):
            if file.member is None:
                named = "GZIP" if file.name.lower().endswith(".gz") else ""
                kind = named if compression is None else compression
                file = dataclasses.replace(file, compression=kind)
            found[file.name] = file
    for file in found.values():
        _check(file)
    return list(found.values())


def verify_compressed(files: Sequence[DataFile]) -> None:
    """Decompresses each gzip or zlib file once in this process.

    TensorFlow's line reader takes a truncated gzip file for a shorter one and says nothing.

    Raises:
        InputError: a file that is cut off or damaged.
    """
    compressed = [file for file in files if file.compression and file.member is None]
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        for _ in pool.map(_verify, compressed):
            pass


def _verify(file: DataFile) -> None:
    stat = None if _is_remote(file.path) else os.stat(file.path)
    version = (file.name, stat and stat.st_mtime_ns, stat and stat.st_size)
    if version in _verified:
        return
    try:
        with file.open() as data:
            while data.read(1 << 20):
                pass
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{file.name}: is cut off or damaged ({error}); copy or compress it again."
        ) from error
    _verified.add(version)


def scratch_folder() -> str:
    """Returns a folder of this process that is deleted when the process ends."""
    return _scratch_folder_of(os.getpid())


@functools.cache
def _scratch_folder_of(owner: int) -> str:
    folder = tempfile.mkdtemp(prefix="genever-")
    atexit.register(_remove_scratch, folder, owner)
    return folder


def _remove_scratch(folder: str, owner: int) -> None:
    # A forked child inherits the handler but not the folder.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _is_remote(path: str) -> bool:
    return "://" in path


def _match(parameter: str, pattern: str, member_ending: str) -> list[DataFile]:
    archive = _ZIP_MEMBER.match(pattern)
    if archive:
        files = []
        for path in _paths(parameter, archive.group(1)):
            files += _members(parameter, path, archive.group(2), member_ending)
        return files
    return [DataFile(path, path) for path in _paths(parameter, pattern)]


def _paths(parameter: str, pattern: str) -> list[str]:
    if _is_remote(pattern):
        import tensorflow as tf

        paths = sorted(tf.io.gfile.glob(pattern))
    elif os.path.lexists(pattern):
        paths = [pattern]
    else:
        paths = sorted(glob.glob(pattern, recursive=True))
    if not paths:
        here = "" if _is_remote(pattern) or os.path.isabs(pattern) else f" in {os.getcwd()}"
        raise InputError(f"{parameter}: no file matches {pattern!r}{here}; check the path.")
    return paths


def _members(parameter: str, path: str, member: str | None, ending: str) -> list[DataFile]:
    if _is_remote(path):
        raise InputError(f"{path}: a zip archive must be a local file; copy it here first.")
    _check(DataFile(path, path))
    try:
        with zipfile.ZipFile(path) as archive:
            names = [
                info.filename
                for info in archive.infolist()
                if not info.is_dir() and not info.filename.startswith("__MACOSX/")
            ]
    except zipfile.BadZipFile as error:
        raise InputError(f"{path}: is not a readable zip archive ({error}).") from error
    if member is not None:
        chosen = [member] if member in names else sorted(fnmatch.filter(names, member))
        if not chosen:
            raise InputError(
                f"{parameter}: {path} has no member {member!r}; it has {', '.join(names)}."
            )
    else:
        chosen = [name for name in names if name.lower().endswith(ending)] if ending else []
        if not chosen and len(names) == 1:
            chosen = names
        if len(chosen) != 1:
            raise InputError(
                f"{parameter}: {path} has {len(chosen) or 'no'} {ending or 'single'} members "
                f"({', '.join(names) or 'it is empty'}); name one, such as "
                f"'{path}/{(chosen or names or ['data' + ending])[0]}'."
            )
    return [DataFile(f"{path}/{name}", path, name) for name in chosen]


def _check(file: DataFile) -> None:
    if not _is_remote(file.path):
        if os.path.isdir(file.path):
            raise InputError(
                f"{file.path}: is a folder; name the files in it, such as "
                f"'{os.path.join(file.path, '*')}'."
            )
        if not os.path.exists(file.path):
            raise InputError(f"{file.path}: is a link to a file that does not exist.")
    try:
        with _open_plain(file.path) as raw:
            magic = raw.read(4)
    except OSError as error:
        raise InputError(f"{file.name}: cannot be read ({error.strerror or error}).") from error
    if not magic:
        raise InputError(f"{file.name}: is empty.")
    gzipped = magic[:2] == b"\x1f\x8b"
    if gzipped and file.compression == "" and file.member is None:
        raise InputError(f"{file.name}: is gzip-compressed; rename it to end in .gz.")
    if not gzipped and file.compression == "GZIP":
        raise InputError(
            f"{file.name}: is to be read as gzip but is not gzip-compressed; rename or compress it."
        )
    is_archive = magic == b"PK\x03\x04" and _ZIP_MEMBER.match(file.path) is None
    if is_archive and file.compression == "":
        raise InputError(f"{file.name}: is a zip archive; rename it to end in .zip.")
    try:
        with file.open() as data:
            first = data.read(1)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
        raise InputError(f"{file.name}: cannot be decompressed ({error}).") from error
    if not first:
        raise InputError(f"{file.name}: is empty.")


def _open_plain(path: str) -> Any:
    if not _is_remote(path):
        return open(path, "rb")
    import tensorflow as tf

    return tf.io.gfile.GFile(path, "rb")


@contextlib.contextmanager
def _open_gzip(path: str):
    with _open_plain(path) as raw, gzip.GzipFile(fileobj=raw) as data:
        yield data


@contextlib.contextmanager
def _open_zlib(path: str):
    with _open_plain(path) as raw, tempfile.SpooledTemporaryFile(1 << 24) as data:
        inflate = zlib.decompressobj()
        while chunk := raw.read(1 << 20):
            data.write(inflate.decompress(chunk))
        data.write(inflate.flush())
        if not inflate.eof:
            raise EOFError("the compressed data ends too early")
        data.seek(0)
        yield data


@contextlib.contextmanager
def _open_member(path: str, member: str):
    with zipfile.ZipFile(path) as archive, archive.open(member) as data:
        yield data


def _extract(file: DataFile) -> str:
    stat = os.stat(file.path)
    version = f"{os.path.abspath(file.name)}|{stat.st_mtime_ns}|{stat.st_size}"
    key = hashlib.sha256(version.encode()).hexdigest()[:24]
    target = os.path.join(scratch_folder(), f"{key}-{os.path.basename(file.name)}")
    if os.path.exists(target):
        return target
    try:
        with file.open() as source, open(target + ".part", "wb") as sink:
            shutil.copyfileobj(source, sink, 1 << 20)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
        raise InputError(f"{file.name}: cannot be extracted ({error}).") from error
    os.replace(target + ".part", target)
    return target
