# SPDX-License-Identifier: MIT
"""Boxes of many pictures on many machines, by Dask: docs/python.md.

OUTPUT gets a JSON line for each picture. Pictures that it has already are not detected again."""
import argparse
import json
import os
from concurrent.futures import ThreadPoolExecutor

import darknet_gemm
from distributed import Client, WorkerPlugin, as_completed, get_worker, progress

class Detector(WorkerPlugin):
    """A network in each worker process, with as many threads as the worker was given."""
    def __init__(self, *files):
        self.files = [os.path.abspath(file) for file in files if file]

    def setup(self, worker):
        worker.network = darknet_gemm.Network(*self.files, threads=worker.state.nthreads)

def detect(pictures):
    try:
        found = get_worker().network.detect_many(pictures)
        return [{"boxes": [box._asdict() for box in boxes]} for boxes in found]
    except darknet_gemm.Error as error:         # of one picture: the others are detected
        one_by_one = [detect([one]) for one in pictures] if len(pictures) > 1 else []
        return sum(one_by_one, []) or [{"error": str(error)}]

def cut_to_whole_lines(file):       # returns their pictures
    file.seek(0)
    lines = [line for line in file if line.endswith(b"\n")]
    file.truncate(sum(map(len, lines)))
    return {json.loads(line)["picture"] for line in lines}

def write(file, batches):
    for task, found in as_completed(list(batches), with_results=True):
        for picture, result in zip(batches[task], found):
            file.write(json.dumps({"picture": picture, **result}).encode() + b"\n")
        file.flush()

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in "cfg", "weights", "output", "--names", "--scheduler":
        parser.add_argument(name)
    parser.add_argument("pictures", nargs="+")      # and folders of them
    parser.add_argument("--batch", type=int, default=64)
    options = parser.parse_args()
    listed = [os.path.join(one, name) for one in options.pictures
              for name in (sorted(os.listdir(one)) if os.path.isdir(one) else [""])]
    with open(options.output, "a+b") as file, Client(options.scheduler) as client:
        done = cut_to_whole_lines(file)
        left = [one for one in dict.fromkeys(map(os.path.abspath, listed)) if one not in done]
        cut = [left[i:i + options.batch] for i in range(0, len(left), options.batch)]
        register = getattr(client, "register_plugin", None) or client.register_worker_plugin
        register(Detector(options.cfg, options.weights, options.names), name="darknet-gemm")
        tasks = client.map(detect, cut, pure=False)
        with ThreadPoolExecutor(1) as writer:
            written = writer.submit(write, file, dict(zip(tasks, cut)))
            progress(tasks, notebook=False)
            written.result()
