"""Runs a command and prints its wall and CPU seconds and its peak of memory as JSON."""

import json
import resource
import subprocess
import sys
import time

started = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
wall = time.perf_counter() - started
cpu = used.ru_utime + used.ru_stime
print(json.dumps({"code": code, "wall": wall, "cpu": cpu, "peak": used.ru_maxrss * 1024}))
