"""Planning on copies: tools are tried on copies of what they share, and only the best plan is carried out.

A :class:`CopyableState` is a database, a folder or an object that tools read and write; :class:`SQLite`,
:class:`Folder` and :class:`PythonObject` are ready.
"""

from tape.tools.copies.base import CopyableState, CopyError
from tape.tools.copies.folder import Folder
from tape.tools.copies.python import PythonObject
from tape.tools.copies.sqlite import SQLite

__all__ = ["CopyError", "CopyableState", "Folder", "PythonObject", "SQLite"]
