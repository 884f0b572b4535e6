"""What every reader shares: decoding a file, and errors that say where."""

from pathlib import Path


def error_at(text: str, offset: int, message: str) -> ValueError:
    """A ValueError whose message begins with the line and column (both from 1) of ``offset`` in ``text``."""
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return ValueError(f"line {line}, column {column}: {message}")


def decode(data: bytes, source: str) -> str:
    """UTF-8 bytes as text. Raises ``ValueError`` naming ``source``, line and column of the first other byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before, byte = data[: error.start].decode("utf-8"), data[error.start]
        where = error_at(before, len(before), f"byte 0x{byte:02x} is not UTF-8 text; save the file as UTF-8")
        raise ValueError(f"{source}: {where}") from None


def read_text(path: str | Path) -> str:
    """The text of a UTF-8 file; errors as in :func:`decode`."""
    return decode(Path(path).read_bytes(), str(path))
