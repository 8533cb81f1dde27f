"""Digests of source code that change when what it computes may change, and not with its documentation.

Comments and layout are no part of a syntax tree; docstrings and the messages of errors are taken out of it. A cell
that raises an error is not stored, so that what the error says cannot matter.
"""

from __future__ import annotations

import ast
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["computing_files", "digest_of"]

# Files besides modules that numbers depend on: weights and tables.
DATA = {".npy", ".npz", ".onnx", ".safetensors"}


def computing_files(package: Path, *, without: tuple[str, ...] = ()) -> list[tuple[str, Path]]:
    """Return the modules and data files of a package, with the names they have in it.

    Parameters
    ----------
    package : path
        The folder of the package.
    without : tuple of str
        Modules (``"kernels.py"``) and folders (``"io/"``) that compute nothing.
    """
    found = []
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package).as_posix()
        if path.suffix in {".py", *DATA} and not any(_belongs(name, excluded) for excluded in without):
            found.append((f"{package.name}/{name}", path))
    return found


def digest_of(files: Iterable[tuple[str, Path]]) -> str:
    """Return a digest of what files compute, under names that do not depend on where they are installed."""
    digest = hashlib.sha256()
    for name, path in files:
        content = path.read_bytes()
        digest.update(f"{name}\n".encode())
        digest.update(_essence(content).encode() if path.suffix == ".py" else hashlib.sha256(content).digest())
    return digest.hexdigest()


def _belongs(name: str, excluded: str) -> bool:
    return name.startswith(excluded) if excluded.endswith("/") else name == excluded


def _essence(source: bytes) -> str:
    """Return a module's syntax tree as text, without what cannot change a number."""
    return ast.dump(_Essence().visit(ast.parse(source)))


class _Essence(ast.NodeTransformer):
    """Takes docstrings and messages of errors out of a tree."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Drop a statement that is only a text: a docstring, of whatever."""
        text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if text else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """Keep which error is raised, and drop what it says."""
        call = node.exc
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id.endswith("Error"):
            call.args, call.keywords = [], []
        return self.generic_visit(node)
