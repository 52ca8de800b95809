# SPDX-License-Identifier: MIT
"""examples/dask_detect.py on two worker processes, of which one is killed: dask_cases.py FOLDER.

From the project's root. FOLDER is a new one for pictures and results."""

import json
import os
import signal
import subprocess
import sys
import time

import darknet_gemm
from distributed import LocalCluster

CFG, WEIGHTS, NAMES = "cfg/kite-demo.cfg", "cfg/kite-demo.weights", "data/coco.names"
SOURCES = [os.path.abspath(f"data/{name}.jpg") for name in ("kite", "dog", "person")]
PICTURES, BAD = 60, "c-bad.jpg"


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [line for line in file if line.endswith("\n")]


def start(output, folder, scheduler):
    arguments = ["--scheduler", scheduler, "--names", NAMES, "--batch", "2"]
    return subprocess.Popen(
        [sys.executable, "examples/dask_detect.py", *arguments, CFG, WEIGHTS, output, folder],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def end(process, name):
    said = process.communicate(timeout=120)[0]
    if process.returncode:
        print(f"not ok - {name}\n# {said[-3000:]}".replace("\n", "\n# "))
        sys.exit(1)


def judge(name, right, what=""):
    print(f"{'ok' if right else 'not ok'} - {name}{what and f' # {what}'}", flush=True)
    return right


def kill_in_the_middle(process, output, worker):
    """Returns how many lines were there."""
    while len(lines_of(output)) < 4 and process.poll() is None:
        time.sleep(.01)
    os.kill(worker, signal.SIGKILL)
    return len(lines_of(output))


def main(work):
    folder, output = os.path.join(work, "pictures"), os.path.join(work, "boxes.jsonl")
    os.makedirs(folder)
    source = {f"{i:02}.jpg": SOURCES[i % len(SOURCES)] for i in range(PICTURES)}
    for name, path in source.items():
        os.symlink(path, os.path.join(folder, name))
    with open(os.path.join(folder, BAD), "w", encoding="utf-8") as file:
        file.write("no picture")
    net = darknet_gemm.Network(CFG, WEIGHTS, NAMES)
    want = {path: [box._asdict() for box in net.detect(path)] for path in SOURCES}

    def is_whole():
        found = [json.loads(line) for line in lines_of(output)]
        if sorted(os.path.basename(one["picture"]) for one in found) != sorted([*source, BAD]):
            return False
        names = {os.path.basename(one["picture"]): one for one in found}
        bad = names.pop(BAD)
        return "Cannot load image" in bad["error"] and all(
            one["boxes"] == want[source[name]] for name, one in names.items())

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster:
        process = start(output, folder, cluster.scheduler_address)
        seen = kill_in_the_middle(process, output, cluster.workers[0].pid)
        end(process, "a worker is killed")
        right = judge("killed in the middle", seen < PICTURES, f"{seen} lines")
        right &= judge("every picture once", is_whole())
        kept = lines_of(output)[:PICTURES // 2]
        with open(output, "w", encoding="utf-8") as file:
            file.write("".join(kept) + '{"picture": "torn')
        end(start(output, folder, cluster.scheduler_address), "it resumes")
        right &= judge("resumes", is_whole() and lines_of(output)[:len(kept)] == kept)
    print("1..3")
    return not right


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
