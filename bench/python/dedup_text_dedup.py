"""text-dedup's own MinHash pipeline: dedup_text_dedup.py IN.jsonl OUT.jsonl CACHE."""

import shutil
import subprocess
import sys

from datasets import load_from_disk

source, target, cache = sys.argv[1:]
shutil.rmtree(cache, ignore_errors=True)
options = {
    "--path": "json",
    "--data_files": source,
    "--split": "train",
    "--cache_dir": cache,
    "--output": f"{cache}/out",
    "--column": "text",
    "--batch_size": "10000",
    "--num_perm": "128",
    "--ngram": "2",
    "--threshold": "0.6",
}
words = [word for option in options.items() for word in option]
subprocess.run([sys.executable, "-m", "text_dedup.minhash", *words], check=True)
load_from_disk(f"{cache}/out").to_json(target)
shutil.rmtree(cache, ignore_errors=True)
