"""Files that contain keys of customers. Only their owner may read them."""

import os
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import Final, TextIO

OWNER_ONLY: Final = 0o600
OTHERS: Final = 0o077  # permissions of the group and everyone else


def open_private(path: Path, *, append: bool = False, exclusive: bool = False) -> TextIO:
    """Open a text file for writing. A new file has mode 0600 from the start.

    An existing file that we own is narrowed to mode 0600.
    """
    flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if exclusive else 0)
    flags |= os.O_APPEND if append else os.O_TRUNC
    descriptor = os.open(path, flags, OWNER_ONLY)
    try:
        stat = os.fstat(descriptor)
        # Not a device or pipe such as /dev/stdout, nor a file that another user shares with us.
        ours = S_ISREG(stat.st_mode) and stat.st_uid == os.geteuid()
        if ours and S_IMODE(stat.st_mode) & OTHERS:
            os.fchmod(descriptor, OWNER_ONLY)
        return os.fdopen(descriptor, "a" if append else "w", encoding="utf-8")
    except BaseException:
        os.close(descriptor)
        raise
