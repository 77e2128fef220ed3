# SPDX-License-Identifier: BSD-3-Clause
"""The source tree as the style tests see it, and their TAP output."""

import os
import re
import subprocess

CODE_SUFFIXES = (".cc", ".h", ".c")
INPUTS = "tests/fuzz/corpus/"  # bytes for the fuzz targets, no sources


def source_root():
    return os.environ.get("STRATA_SOURCE") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def files_of(root):
    """The tracked files, as paths from the root; in an unpacked distribution, everything that was shipped."""
    if os.path.exists(os.path.join(root, ".git")):
        try:
            names = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z"], check=True,
                                   capture_output=True, text=True).stdout.split("\0")
            return sorted(name for name in names
                          if name and not name.startswith(INPUTS) and os.path.isfile(os.path.join(root, name)))
        except (OSError, subprocess.CalledProcessError):
            pass  # No git here: look at the files themselves.
    return sorted(name for name in walk(root) if not name.startswith(INPUTS))


def walk(root):
    generated = {"configure", "configure~", "aclocal.m4", "config.h.in", "config.h.in~", "Makefile.in", "Makefile"}
    skipped = {".git", "build", "build-aux", "autom4te.cache", "_build", "_inst", "__pycache__"}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in skipped]
        for name in names:
            if folder != root or name not in generated:
                yield os.path.relpath(os.path.join(folder, name), root)


def text_of(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def without_comments(text):
    """C and C++ text with comments and the contents of strings blanked, line numbers kept."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)

    def blank(match):
        found = match.group(0)
        return '""' if found.startswith('"') else "\n" * found.count("\n")

    return pattern.sub(blank, text)


class Tap:
    """Prints one TAP line per case, and the plan at the end."""

    def __init__(self):
        self.number = 0
        self.failed = 0

    def case(self, name, complaints=()):
        """ok without complaints; else each of them is printed as a comment."""
        self.number += 1
        complaints = list(complaints)
        self.failed += bool(complaints)
        print(f"{'not ok' if complaints else 'ok'} {self.number} - {name}")
        for complaint in complaints[:50]:
            print("# " + complaint.replace("\n", "\n# "))
        if len(complaints) > 50:
            print(f"# and {len(complaints) - 50} more")

    def skip(self, name, reason):
        self.number += 1
        print(f"ok {self.number} - {name} # SKIP {reason}")

    def end(self):
        print(f"1..{self.number}")
        if self.failed:
            print(f"# {self.failed} of {self.number} failed")
