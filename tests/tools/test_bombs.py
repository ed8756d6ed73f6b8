"""Small files that unpack to huge ones: nothing is unpacked here, and what is sent is bounded by the file's own size."""

from __future__ import annotations

import resource
import struct
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dogu.contract.content import Blob
from dogu.contract.result import ToolResult
from dogu.runtime.registry import AnyTool
from dogu.testing.workspace import run_tool
from dogu.tools.grep_search import GrepSearch
from dogu.tools.read_file import ReadFile
from dogu.tools.read_many_files import ReadManyFiles
from dogu.workspace.files import LocalFiles
from dogu.workspace.roots import Roots
from dogu.workspace.search import ContentSearch

pytestmark = pytest.mark.anyio

_UNPACKED_BYTES = 200_000_000


@cache
def gzip_bomb() -> bytes:
    piece = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(1_000_000)
    return b"".join([*(piece.compress(zeros) for _ in range(_UNPACKED_BYTES // len(zeros))), piece.flush()])


@cache
def png_bomb() -> bytes:
    """Make a picture of 14,000 x 14,000 points, all of one color."""
    side = 14_000

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(9)
    rows = b"".join([*(packer.compress(bytes(side + 1)) for _ in range(side)), packer.flush()])
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def pdf_bomb() -> bytes:
    packed = gzip_bomb()
    return b"%%PDF-1.7\n1 0 obj <</Length %d /Filter /FlateDecode>> stream\n%s\nendstream endobj\n%%%%EOF\n" % (
        len(packed),
        packed,
    )


def size_of(result: ToolResult) -> int:
    content = result.llm_content
    parts = content if isinstance(content, list) else [content]
    return sum(len(part.data) if isinstance(part, Blob) else len(str(part)) for part in parts)


@pytest.mark.parametrize(
    ("name", "make"), [("a.gz", gzip_bomb), ("a.png", png_bomb), ("a.pdf", pdf_bomb), ("a.svgz", gzip_bomb)]
)
async def test_what_would_unpack_to_a_huge_file_is_not_unpacked(
    name: str, make: Callable[[], bytes], tmp_path: Path
) -> None:
    data = make()
    assert len(data) < 1_000_000
    (tmp_path / name).write_bytes(data)
    roots = Roots(str(tmp_path))
    files = LocalFiles(roots)
    tools: list[tuple[AnyTool, dict[str, Any]]] = [
        (ReadFile(files, roots, lambda _path: ""), {"path": name}),
        (ReadManyFiles(files, roots, lambda _path: ""), {"paths": [name]}),
        (GrepSearch(ContentSearch(roots)), {"pattern": "\\x00{100}|needle"}),
    ]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for tool, args in tools:
        result = await run_tool(tool, **args)
        assert size_of(result) < 2 * len(data) + 10_000
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < _UNPACKED_BYTES / 4


def test_the_bombs_are_bombs() -> None:
    unpacked = zlib.decompressobj(31).decompress(gzip_bomb(), 10_000_000)
    assert len(unpacked) == 10_000_000
