"""Mean of the token vectors of each text: JSON texts on stdin, float32 rows on stdout.

The weights are float16, so their sums in float64 are exact: the bytes do not depend on the order of
additions, nor on the machine. The package is not imported, since its loader asks for the tokenizer
on the network, although the file is in the wheel.
"""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

BATCH = 4096

folder = Path(find_spec("wordllama").submodule_search_locations[0])
[weights] = load_file(folder / "weights" / "l2_supercat_256.safetensors").values()
tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
tokenizer.no_padding()
tokenizer.no_truncation()
assert weights.dtype == np.float16
exact = weights.astype(np.float64)

texts = json.load(sys.stdin)
for start in range(0, len(texts), BATCH):
    encoded = tokenizer.encode_batch(texts[start : start + BATCH], add_special_tokens=False)
    means = [exact[np.minimum(one.ids, len(exact) - 1)].sum(axis=0) / len(one.ids) for one in encoded]
    sys.stdout.buffer.write(np.asarray(means).astype(np.float32).tobytes())
    print(f"sentences: {min(start + BATCH, len(texts)):,} embedded", file=sys.stderr)
