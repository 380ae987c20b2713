"""Rivals on sets of 5-word shingles: CPU time of datasketch and rensa, 128 min-hashes of a text."""

import json
import re
import time

from serve import serve

WORD = re.compile(r"[^\W_]+")
WIDTH = 5
state = {}


def load(path):
    with open(path, encoding="utf-8") as opened:
        state["texts"] = json.load(opened)
    return {}


def shingles(text):
    words = WORD.findall(text.lower())
    runs = [" ".join(words[i : i + WIDTH]) for i in range(len(words) - WIDTH + 1)]
    return runs or [" ".join(words)]


def datasketch(tokens):
    from datasketch import MinHash

    one = MinHash(num_perm=128)
    one.update_batch([token.encode() for token in tokens])
    return one.hashvalues


def rensa(tokens):
    from rensa import RMinHash

    one = RMinHash(num_perm=128, seed=7)
    one.update(tokens)
    return one.digest()


ENGINES = {"datasketch": datasketch, "rensa": rensa}


def run(engine, count):
    """Seconds for the first `count` texts."""
    of_one = ENGINES[engine]
    of_one(shingles("a first text, so that imports are done"))
    started = time.process_time()
    for text in state["texts"][:count]:
        of_one(shingles(text))
    return {"seconds": time.process_time() - started}


if __name__ == "__main__":
    serve([load, run])
