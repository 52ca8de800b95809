# SPDX-License-Identifier: MIT
"""python -m darknet_gemm detect | compare | throughput CFG WEIGHTS PICTURE...: docs/python.md"""

import argparse
import json
import multiprocessing
import os
import pathlib
import statistics
import sys
import time
import warnings

from . import Error, Network

WARM, ROUNDS = 2, 5         # the first passes of a network prepare its layers
TABLE = "{variant:<14} {ms:11.2f} {speedup:8.2f} {boxes:6} {same:6} {f1:6.3f}"


def read_arguments():
    parser = argparse.ArgumentParser(prog="python -m darknet_gemm")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("detect", "print the boxes of pictures"),
                       ("compare", "boxes and time of variants, beside those of single precision"),
                       ("throughput", "pictures a second: threads beside processes of one thread")):
        command = commands.add_parser(name, help=text)
        command.add_argument("cfg")
        command.add_argument("weights")
        command.add_argument("pictures", nargs="+", metavar="PICTURE")
        command.add_argument("--names", help="a file with a label in each line")
        command.add_argument("--threshold", type=float, default=.5, help="the least confidence")
        command.add_argument("--threads", type=int)
        command.add_argument("--json", action="store_true", help="JSON lines")
    one, several = commands.choices["detect"], commands.choices["compare"]
    for command in one, commands.choices["throughput"]:
        command.add_argument("--variant", help="as GEMM_IMPL")
    one.add_argument("--save", metavar="FOLDER", help="writes the pictures with their boxes")
    commands.choices["throughput"].add_argument("--rounds", type=int, default=ROUNDS)
    commands.choices["throughput"].add_argument("--each", type=int, default=32,
                                                help="pictures of a thread")
    several.add_argument("--variants", default="packed_bf16,packed_fp16,packed_int8,cl")
    return parser.parse_args()


def load(options, variant):
    return Network(options.cfg, options.weights, options.names, options.threads, variant)


def print_boxes(picture, boxes, as_json):
    if as_json:
        print(json.dumps({"picture": picture, "boxes": [box._asdict() for box in boxes]}))
        return
    print(f"{picture}: {len(boxes)} boxes")
    for box in boxes:
        print(f"{box.label}: {100 * box.confidence:.0f}%", end="\t")
        print(*(f"{side:.0f}" for side in (box.x, box.y, box.width, box.height)))


def saved_path(folder, picture, taken):
    """FOLDER/name.jpg, with a number where two pictures have one name."""
    name = os.path.splitext(os.path.basename(picture))[0]
    taken[name] = taken.get(name, 0) + 1
    return os.path.join(folder, f"{name}{'-%d' % taken[name] if taken[name] > 1 else ''}.jpg")


def detect(options):
    """1 when a picture failed. Others go on."""
    failed, taken = 0, {}
    if options.save:
        os.makedirs(options.save, exist_ok=True)
    with load(options, options.variant) as net:
        for picture in options.pictures:
            try:
                if options.save:
                    path = saved_path(options.save, picture, taken)
                    boxes = net.save(picture, path, options.threshold)
                else:
                    boxes = net.detect(picture, options.threshold)
                print_boxes(picture, boxes, options.json)
            except Error as error:
                print(error, file=sys.stderr)
                failed = 1
    return failed


def overlap(a, b):
    """Intersection over union."""
    width = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    height = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
    both = max(width, 0) * max(height, 0)
    return both / (a.width * a.height + b.width * b.height - both) if both else 0


def count_same(boxes, reference):
    """How many boxes overlap one of their class in the reference by half, each its own."""
    left, same = list(reference), 0
    for box in boxes:
        near = [other for other in left if other.index == box.index and overlap(box, other) >= .5]
        if near:
            left.remove(max(near, key=lambda other: overlap(box, other)))
            same += 1
    return same


def measure(nets, options):
    """For each network its boxes, a list a picture, and its seconds for a picture. Networks take
    turns."""
    boxes, seconds = {}, {name: [] for name in nets}
    for turn in range(WARM + ROUNDS):
        for name, net in nets.items():
            found = [net._boxes(picture, options.threshold, .45) for picture in options.pictures]
            boxes[name] = [net._label(*one) for one in found]
            if turn >= WARM:
                seconds[name].append(statistics.mean(one[3] for one in found))
    return boxes, {name: statistics.median(all_of) for name, all_of in seconds.items()}


def compare(options):
    nets, refused = {}, {}
    for variant in dict.fromkeys(["packed", *options.variants.split(",")]):
        try:
            nets[variant] = load(options, variant)
        except Error as error:
            if variant == "packed":
                raise
            refused[variant] = str(error)
    boxes, seconds = measure(nets, options)
    if not options.json:
        print("variant         ms/picture  speedup  boxes   same     F1")
    for name in nets:
        same = sum(map(count_same, boxes[name], boxes["packed"]))
        both = sum(map(len, boxes[name] + boxes["packed"]))
        line = {"variant": name, "ms": 1000 * seconds[name],
                "speedup": seconds["packed"] / seconds[name], "boxes": sum(map(len, boxes[name])),
                "same": same, "f1": 2 * same / both if both else 1}
        print(json.dumps(line) if options.json else TABLE.format(**line))
    for name, why in refused.items():
        print(json.dumps({"variant": name, "refused": why}) if options.json else why)
    return 0


def work(options, threads, count, start, times):
    """A process that detects in `count` pictures, and says when it began and ended."""
    warnings.simplefilter("ignore")
    net = Network(options.cfg, options.weights, options.names, threads, options.variant)
    files = [pathlib.Path(name).read_bytes() for name in options.pictures]
    pictures = [files[i % len(files)] for i in range(count)]
    net.detect_many(pictures[:WARM + threads], options.threshold)
    start.wait()
    began = time.monotonic()
    net.detect_many(pictures, options.threshold)
    times.put((began, time.monotonic()))


def pictures_a_second(options, processes, threads):
    """Of so many processes at once."""
    from .__main__ import work          # by a name that the other processes can import
    spawn, count = multiprocessing.get_context("spawn"), options.each * threads
    start, times = spawn.Barrier(processes), spawn.Queue()
    workers = [spawn.Process(target=work, args=(options, threads, count, start, times))
               for _ in range(processes)]
    for worker in workers:
        worker.start()
    began, ended = zip(*(times.get(timeout=600) for _ in workers))
    for worker in workers:
        worker.join()
    return processes * count / (max(ended) - min(began))


def throughput(options):
    affinity = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count()))   # PyPy has none
    threads = options.threads or len(affinity(0))
    load(options, options.variant).detect_many(options.pictures)    # says what is wrong
    rounds = [(pictures_a_second(options, 1, threads), pictures_a_second(options, threads, 1))
              for _ in range(options.rounds)]
    one, several = (statistics.median(speeds) for speeds in zip(*rounds))
    ratio = statistics.median(speeds[0] / speeds[1] for speeds in rounds)
    line = {"threads": threads, "one_process": one, "processes_of_one_thread": several,
            "ratio": ratio}
    print(json.dumps(line) if options.json else
          f"{threads} threads in one process: {one:.1f} pictures a second, {ratio:.3f} of "
          f"{threads} processes of one thread: {several:.1f}")
    return 0


def main():
    warnings.showwarning = lambda message, *_: print(message, file=sys.stderr)
    options = read_arguments()
    if options.command != "detect":
        os.environ.setdefault("GEMM_PREPARE", "first")  # else each of many pictures prepares a part
    try:
        return {"detect": detect, "compare": compare,
                "throughput": throughput}[options.command](options)
    except (Error, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
