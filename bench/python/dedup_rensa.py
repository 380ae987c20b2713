"""A pipeline by rensa: dedup_rensa.py IN.jsonl OUT.jsonl writes the records without near-duplicates.

128 min-hashes of pairs of words, 32 bands of 4, and of each later record that meets a kept one in a
band the estimated Jaccard similarity: the usual recipe, one pass, and the first of a group stays.
"""

import json
import re
import sys

from rensa import RMinHash, RMinHashLSH

WORD = re.compile(r"[^\W_]+")
PERMUTATIONS, BANDS, LEAST = 128, 32, 0.6


def hashed(text):
    words = WORD.findall(text.lower())
    one = RMinHash(num_perm=PERMUTATIONS, seed=7)
    one.update([" ".join(words[i : i + 2]) for i in range(max(1, len(words) - 1))])
    return one


source, target = sys.argv[1:]
index = RMinHashLSH(threshold=LEAST, num_perm=PERMUTATIONS, num_bands=BANDS)
kept = {}
with open(source, encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as out:
    for row, line in enumerate(lines):
        one = hashed(json.loads(line)["text"])
        if any(kept[other].jaccard(one) >= LEAST for other in index.query(one)):
            continue
        index.insert(row, one)
        kept[row] = one
        out.write(line)
