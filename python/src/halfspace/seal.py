"""What the command writes explains itself: each batch says which rows it has and the checksums of its
columns, and the last one that it is the last. docs/format.md is the specification."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
import pyarrow as pa
import xxhash


class CommandError(RuntimeError):
    """The command failed: its sentence."""


#: What Arrow and JSON raise for bytes that are not theirs.
UNREADABLE = (OSError, ValueError, KeyError, TypeError, MemoryError, NotImplementedError)


def checked(pipe: IO[bytes]) -> Iterator[pa.RecordBatch]:
    """The batches of a sealed stream; fails where rows are missing or changed, or the last batch is
    missing."""
    rows, ended = 0, False
    with contextlib.suppress(StopIteration, *UNREADABLE):  # the end, or a cut
        reader = pa.ipc.open_stream(pipe)
        schema = schema_checksum(reader.schema)
        while True:
            batch, metadata = reader.read_next_batch_with_custom_metadata()
            seal = json.loads((metadata or {}).get(b"halfspace", b"{}"))
            sums = [schema, *(checksum(one) for one in batch.columns)]
            is_next = not ended and seal.get("row") == rows and seal.get("rows") == batch.num_rows
            if not is_next or [seal.get("schema"), *seal.get("columns", [])] != sums:
                raise CommandError(f"the output of the command is damaged at row {rows}")
            rows, ended = rows + batch.num_rows, seal["end"]
            if batch.num_rows > 0:
                yield batch
    if not ended:
        raise CommandError(f"the output of the command is cut short after row {rows}")


def schema_checksum(schema: pa.Schema) -> str:
    """The checksum of a schema, whose types are named as apache-arrow for JavaScript does."""
    fields = [[one.name, _name(one.type), one.nullable] for one in schema]
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
    return str(xxhash.xxh64_hexdigest((schema.metadata or {}).get(b"halfspace", b"") + text))


def _name(kind: pa.DataType) -> str:
    if pa.types.is_fixed_size_binary(kind):
        return f"FixedSizeBinary[{kind.byte_width}]"
    known = {"string": "Utf8", "float": "Float32", "double": "Float64"}
    return known.get(str(kind), str(kind).capitalize())


def checksum(column: pa.Array) -> str:
    """The checksum of a column of numbers, texts or codes as its seal has it: a chain, each part of
    which is hashed with the hash before it as its seed."""
    kind, first, end = column.type, column.offset, column.offset + len(column)
    validity, values, *texts = column.buffers()
    parts: list[Any] = [_bits(validity, first, end)] if column.null_count > 0 else []
    if texts:
        # An empty column may come without its one offset.
        offsets = np.frombuffer(values or b"", np.int32)[first : end + 1]
        offsets = offsets if len(offsets) else np.zeros(1, np.int32)
        parts += [offsets - offsets[0], memoryview(texts[0] or b"")[offsets[0] : offsets[-1]]]
    else:
        width = kind.byte_width
        parts.append(memoryview(values or b"")[first * width : end * width])
    value = 0
    for part in parts:
        value = xxhash.xxh64_intdigest(part, value)
    return f"{value:016x}"


def _bits(buffer: pa.Buffer, first: int, end: int) -> np.ndarray:
    """Bits from one on, unused ones 0."""
    bits = np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little")[first:end]
    return np.packbits(bits, bitorder="little")
