"""Files that name customers' keys: only their owner may read them."""

import os
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import Final, TextIO

OWNER_ONLY: Final = 0o600
OTHERS: Final = 0o077  # what a group and everyone else may do


def open_private(path: Path, *, append: bool = False, exclusive: bool = False) -> TextIO:
    """Open a text file to write it, and create it with mode 0600 from its first moment on.

    A file of ours that exists with a wider mode is narrowed: it may be older than this rule.
    """
    flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if exclusive else 0)
    flags |= os.O_APPEND if append else os.O_TRUNC
    descriptor = os.open(path, flags, OWNER_ONLY)
    try:
        found = os.fstat(descriptor)
        # Not a device or a pipe, such as /dev/stdout, nor a file that another user shares.
        ours = S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
        if ours and S_IMODE(found.st_mode) & OTHERS:
            os.fchmod(descriptor, OWNER_ONLY)
        return os.fdopen(descriptor, "a" if append else "w", encoding="utf-8")
    except BaseException:
        os.close(descriptor)
        raise
