# SPDX-License-Identifier: MIT
"""What the Python module does: python_cases.py [--without-numpy] [CASE...], from the project's
root.

GEMM_PREPARE=first, so that all passes of a network have the same bits."""

import array
import contextlib
import functools
import gc
import json
import multiprocessing
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings

CFG, WEIGHTS, NAMES = "cfg/kite-demo.cfg", "cfg/kite-demo.weights", "data/coco.names"
KITE = "data/kite.jpg"


def load(**options):
    return darknet_gemm.Network(CFG, WEIGHTS, names=NAMES, **options)


@functools.lru_cache(None)
def shared():
    return load()


def out(picture, net=None):
    """The raw outputs as bytes."""
    return [one.tobytes() for one in (net or shared()).outputs(picture)]


def refused(wanted, call, *arguments, kind=None, **options):
    """The call must raise an error with these words, in one line."""
    try:
        call(*arguments, **options)
    except kind or darknet_gemm.Error as error:
        assert wanted in str(error), f"no {wanted!r} in {str(error)!r}"
        assert "\n" not in str(error)
        return str(error)
    raise AssertionError(f"nothing was refused: {wanted}")


def python(code, **environment):
    """Runs code in a new interpreter, which must end well. Its standard output."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=100,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    return done.stdout


def memory_bytes():
    """Of this process: mapped, resident."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return [int(pages) * os.sysconf("SC_PAGESIZE") for pages in file.read().split()[:2]]


def noise(height, width, channels, seed=1):
    return random.Random(seed).randbytes(height * width * channels)


def as_array(pixels, *shape):
    return memoryview(pixels).cast("B", shape)


# ---- Cases ----


def import_starts_nothing():
    python("""import os
def cores(): return [line for line in open('/proc/self/status') if line.startswith('Cpus_allowed')]
before = cores(), len(os.listdir('/proc/self/task'))
import darknet_gemm
assert (cores(), len(os.listdir('/proc/self/task'))) == before
""")


def import_hides_no_function():
    """glibc's error() is another function than Darknet's: it must not be called."""
    refused(
        "First section must be [net]",
        darknet_gemm.Network,
        written("a.cfg", "[convolutional]\nsize=1\n[yolo]\n"),
        WEIGHTS,
    )


def bmp(pixels, height, width):
    """A BMP of 24 bits, whose rows are a multiple of 4 bytes and stand upside down."""
    row = 3 * width
    swapped = bytearray(pixels)
    swapped[0::3], swapped[2::3] = pixels[2::3], pixels[0::3]
    rows = b"".join(bytes(swapped[y * row : (y + 1) * row]) for y in reversed(range(height)))
    head = struct.pack("<iiihhiiiiii", 40, width, height, 1, 24, 0, len(rows), 0, 0, 0, 0)
    return b"BM" + struct.pack("<iii", 54 + len(rows), 0, 54) + head + rows


def sources():
    """A path, a file's bytes, a buffer of them, and pixels give the same."""
    pixels = noise(90, 120, 3)
    file = bmp(pixels, 90, 120)
    want = out(as_array(pixels, 90, 120, 3))
    assert out(file) == want and out(bytearray(file)) == want and out(memoryview(file)) == want
    assert out(written("picture.bmp", file)) == want
    kept = bytearray(pixels)
    assert out(as_array(kept, 90, 120, 3)) == want
    kept.append(0)  # which a buffer that is still in use refuses
    assert out(as_array(noise(90, 120, 3, 2), 90, 120, 3)) != want


def channels():
    gray = noise(60, 80, 1)
    colour = bytes(byte for byte in gray for _ in range(3))
    alpha = bytes(byte for level in gray for byte in (level, level, level, 7))
    want = out(as_array(colour, 60, 80, 3))
    assert out(as_array(gray, 60, 80)) == want and out(as_array(gray, 60, 80, 1)) == want
    assert out(as_array(alpha, 60, 80, 4)) == want
    refused("a picture of 2 channels cannot go into a network of 3", out, as_array(gray, 60, 40, 2))


def bad_pictures():
    with open(KITE, "rb") as file:
        kite = file.read()
    want = out(KITE)
    refused("a picture is empty", out, b"")
    refused("Cannot load an image from 4 bytes", out, b"nope")
    refused('Cannot load image "none.jpg": No such file or directory', out, "none.jpg")
    refused('Cannot load image "README.md"', out, "README.md")
    refused("Cannot load an image from 1000 bytes", out, kite[:1000])
    refused("too narrow for a network of 416 x 416", out, as_array(bytes(3000), 1000, 1, 3))
    refused("too narrow for a network of 416 x 416", out, as_array(bytes(3000), 1, 1000, 3))
    refused(
        "format 'f'",
        out,
        memoryview(array.array("f", [0] * 12)).cast("B").cast("f", (2, 2, 3)),
        kind=TypeError,
    )
    refused("4 dimensions", out, as_array(bytes(24), 2, 2, 2, 3), kind=TypeError)
    refused("not int", out, 7, kind=TypeError)
    refused("not NoneType", out, None, kind=TypeError)
    out(as_array(bytes(3), 1, 1, 3))
    assert out(KITE) == want


def errors_of_the_program():
    """The line of an error is the last one of ./darknet."""
    with open(CFG, encoding="utf-8") as file:
        cfg = file.read()
    with open(WEIGHTS, "rb") as file:
        weights = file.read()
    for one, other in (
        ("none.cfg", WEIGHTS),
        (CFG, "none.weights"),
        ("README.md", WEIGHTS),
        (WEIGHTS, WEIGHTS),
        (written("empty.cfg", ""), WEIGHTS),
        (written("key.cfg", cfg.replace("[yolo]", "[unknown_layer]", 1)), WEIGHTS),
        (written("size.cfg", cfg.replace("width=416", "width=-1", 1)), WEIGHTS),
        (CFG, written("short.weights", weights[:5000])),
        (CFG, written("head.weights", b"abc")),
    ):
        said = subprocess.run(
            ["./darknet", "detect", one, other, KITE], capture_output=True, check=False
        )
        assert said.returncode == 1, said
        line = said.stderr.decode(errors="replace").rstrip("\n").split("\n")[-1]
        assert refused("", darknet_gemm.Network, one, other) == line[:2047], line
    assert out(KITE, load()) == out(KITE)


def bad_options():
    refused("variant='nix' is no variant", load, variant="nix")
    refused("variant='packed_int8' cannot run here: GEMM_INT8", load, variant="packed_int8")
    for threads in (0, 1025, "two", 1.5):
        refused("whole number from 1 to 1024", load, threads=threads, kind=ValueError)
    refused("No such file", load_with, NAMES + ".none", kind=OSError)
    refused("does not end with .jpg", shared().save, KITE, "boxes.png", kind=ValueError)
    refused("cannot be written: No such file", shared().save, KITE, "/none/boxes.jpg")
    assert "packed" in darknet_gemm.variants()


def bad_environment():
    """The driver has ended: each call says so, also in another thread. The interpreter goes on."""
    said = python(
        f"""import darknet_gemm, threading
def say():
    for _ in range(2):
        try: darknet_gemm.Network({CFG!r}, {WEIGHTS!r})
        except darknet_gemm.Error as error: print(error)
say()
thread = threading.Thread(target=say)
thread.start()
thread.join()
""",
        GEMM_CONV="nix",
    )
    assert said == "gemm: GEMM_CONV='nix' is none of hook, direct, im2col\n" * 4, said


def environment():
    """GEMM_IMPL counts where no variant is named, also behind a network that names one."""
    said = python(
        f"""import darknet_gemm, hashlib
def say(**options):
    net = darknet_gemm.Network({CFG!r}, {WEIGHTS!r}, **options)
    print(*(hashlib.sha256(one).hexdigest() for one in net.outputs({KITE!r})))
say()
say(variant="packed")
say()
""",
        GEMM_IMPL="stock",
    ).splitlines()
    assert said[0] == said[2] != said[1], said


def closed():
    net = load()
    net.close()
    net.close()
    refused("the network is closed", net.detect, KITE)
    refused("the network is closed", net.outputs, KITE)
    with load() as net:
        assert net.detect(KITE)
    refused("the network is closed", net.save, KITE, "boxes.jpg")
    net.__del__()


def boxes():
    found = shared().detect(KITE, threshold=0.3)
    assert [box.confidence for box in found] == sorted(
        (box.confidence for box in found), reverse=True
    )
    assert {box.label for box in found} == {"kite", "person"} and {box.index for box in found} == {
        0,
        33,
    }
    assert all(box.width > 0 and box.height > 0 and box.x + box.width < 1400 for box in found)
    assert len(shared().detect(KITE, threshold=0.9)) < len(found)
    assert len(shared().detect(KITE, threshold=0.001)) < len(
        shared().detect(KITE, threshold=0.001, nms=0)
    )
    assert shared().detect_many([KITE, "data/dog.jpg", KITE]) == [
        shared().detect(one) for one in (KITE, "data/dog.jpg", KITE)
    ]
    assert shared().detect_many([]) == []
    labels = ["somebody"]
    assert {box.label for box in darknet_gemm.Network(CFG, WEIGHTS, labels).detect(KITE)} == {
        "33",
        "somebody",
    }
    assert [one.shape for one in shared().outputs(KITE)] == [(117, 13, 13), (156, 52, 52)]
    assert shared().outputs(KITE)[0].format == "f"


def many():
    """Pictures of detect_many, in threads of their own, have the bits of one at a time."""
    pixels = noise(90, 120, 3)
    pictures = [KITE, bmp(pixels, 90, 120), "data/dog.jpg", as_array(pixels, 90, 120, 3)]
    pictures = [pictures[(i + i // 4) % 4] for i in range(11)]
    for count, variant in (3, "packed"), (3, "packed_bf16"), (1, "packed"):
        net = load(threads=count, variant=variant)
        want = [net.detect(one, 1e-3) for one in pictures]
        assert len(want[0]) > 5
        for some in pictures, iter(pictures), pictures[:2], pictures[3:6]:
            first = 3 if some == pictures[3:6] else 0
            found = net.detect_many(some, 1e-3)
            assert found == want[first : first + len(found)] and (found or not some)
        shares = count if count > 1 else 0
        assert net._own.share_count == shares, net._own.share_count
        pictures[5:5] = ["none.jpg"]
        refused('Cannot load image "none.jpg"', net.detect_many, pictures)
        del pictures[5]
        assert net.detect(KITE, 1e-3) == want[0] and net.detect_many(pictures, 1e-3) == want
        before = memory_bytes()
        for _ in range(5):
            assert net.detect_many(pictures, 1e-3) == want
        more = [now - then for now, then in zip(memory_bytes(), before)]
        # A thread that decodes its first large picture keeps room for it: 5 MB.
        assert more[0] < 32 << 20 and more[1] < 16 << 20, f"{more} bytes more"
        net.close()
        refused("the network is closed", net.detect_many, pictures)


def without_boxes():
    """Networks of a maxpool, for colours and for gray, have outputs alone."""
    head = written("none.weights", bytes(16))
    for count in (3, 1):
        text = f"[net]\nwidth=4\nheight=4\nchannels={count}\n[maxpool]\nsize=2\nstride=2\n"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            net = darknet_gemm.Network(written("pool.cfg", text), head)
        refused("no layer that gives boxes: use outputs", net.detect, KITE)
        refused("no layer that gives boxes: use outputs", net.detect_many, [KITE])
        pixels = noise(4, 4, count)
        (found,) = net.outputs(as_array(pixels, 4, 4, count))
        assert found.shape == (count, 2, 2)
        corner = max(pixels[count * at] for at in (0, 1, 4, 5))
        assert abs(found[0, 0, 0] - corner / 255) < 1e-6, (found[0, 0, 0], corner)
        assert net.outputs(KITE)[0].shape == (count, 2, 2)
    refused(
        "a picture of 3 channels cannot go into a network of 1",
        out,
        as_array(bytes(48), 4, 4, 3),
        net,
    )


def old_names():
    from darknet_gemm import detect, load_meta, load_net

    meta = load_meta(b"cfg/coco.data")
    assert meta.classes == 80 and meta.names[33] == b"kite"
    found = detect(load_net(CFG.encode(), WEIGHTS.encode(), 0), meta, KITE.encode(), thresh=0.5)
    want = shared().detect(KITE)
    assert [(name.decode(), confidence) for name, confidence, _ in found] == [
        (b.label, b.confidence) for b in want
    ]
    for (_, _, (x, y, w, h)), box in zip(found, want):
        assert (
            abs(x - w / 2 - box.x) < 0.01
            and abs(y - h / 2 - box.y) < 0.01
            and (w, h) == (box.width, box.height)
        )


def threads():
    """Threads of Python on one network and on several, with unequal variants and threads."""
    nets = [shared(), load(threads=1), load(variant="packed", threads=2), load(variant="stock")]
    pictures = [KITE, "data/dog.jpg"]
    want = {(i, picture): out(picture, net) for i, net in enumerate(nets) for picture in pictures}
    wrong = []

    def work(first):
        for turn in range(4):
            i, picture = (first + turn) % len(nets), pictures[(first + turn) % 2]
            if out(picture, nets[i]) != want[i, picture]:
                wrong.append((i, picture))

    workers = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert not wrong and not any(worker.is_alive() for worker in workers), wrong


def fork():
    """Children of a process in which another thread computes."""
    net, want, stop = shared(), out(KITE), threading.Event()

    def busy():
        while not stop.is_set():
            out("data/dog.jpg", net)

    worker = threading.Thread(target=busy)
    worker.start()
    try:
        for _ in range(4):
            signal.alarm(60)        # the fork has its turn, although the thread never pauses
            child = os.fork()
            signal.alarm(0)
            if not child:
                signal.alarm(30)
                same = out(KITE, net) == want and out(KITE, load()) == want
                net.close()
                os._exit(0 if same else 1)
            status = os.waitpid(child, 0)[1]
            assert status == 0, f"a child ended with {status}"
    finally:
        stop.set()
        worker.join()
    assert out(KITE) == want


def batch():
    """A cfg that was trained with a large batch takes the memory of one picture."""

    with open(CFG, encoding="utf-8") as file:
        cfg = file.read()
    many = written("batch.cfg", cfg.replace("batch=1\n", "batch=64\n", 1))
    want = out(KITE)
    before = memory_bytes()[0]
    with darknet_gemm.Network(many, WEIGHTS) as net:
        assert memory_bytes()[0] - before < 1 << 28, memory_bytes()[0] - before
        assert out(KITE, net) == want


def spawned_boxes(net):
    return net.detect(KITE)


def spawn():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(spawned_boxes, [shared()]) == [shared().detect(KITE)]


def memory():
    """Networks that are closed, forgotten or refused, and pictures that fail, keep no memory."""

    def once():
        with load(), open(KITE, "rb") as file:
            assert len(load().detect(KITE, threshold=1e-8, nms=0)) > 10000
            for _ in range(10):
                refused("", out, file.read()[:5000] or b"x")
        for _ in range(5):
            refused("", darknet_gemm.Network, CFG, "none.weights")
        gc.collect()

    for _ in range(3):
        once()
    before, files = memory_bytes(), len(os.listdir("/proc/self/fd"))
    for _ in range(8):
        once()
    more = [now - then for now, then in zip(memory_bytes(), before)]
    assert more[0] < 64 << 20 and more[1] < 2 << 20, f"{more} bytes more"
    assert len(os.listdir("/proc/self/fd")) == files


def notes():
    """What a cfg has and nobody uses is a warning, and the table of layers is none."""
    with open(CFG, encoding="utf-8") as file:
        cfg = file.read()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        darknet_gemm.Network(
            written("more.cfg", cfg.replace("momentum=", "mosaic=1\nmomentum=")), WEIGHTS
        )
    lines = [str(one.message) for one in said]
    assert lines and all("mosaic" in line for line in lines), lines


def command_line():
    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "darknet_gemm", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    folder = tempfile.mkdtemp(dir=work)
    status, text, said = run(
        "detect", CFG, WEIGHTS, KITE, "none.jpg", KITE, "--names", NAMES, "--json", "--save", folder
    )
    lines = [json.loads(line) for line in text.splitlines()]
    assert status == 1 and said == 'Cannot load image "none.jpg": No such file or directory\n', said
    assert [line["picture"] for line in lines] == [KITE, KITE] and lines[0]["boxes"] == lines[1][
        "boxes"
    ]
    assert lines[0]["boxes"] == [box._asdict() for box in shared().detect(KITE)]
    assert sorted(os.listdir(folder)) == ["kite-2.jpg", "kite.jpg"]
    assert run("detect", "none.cfg", WEIGHTS, KITE) == (1, "", "Couldn't open file: none.cfg\n")
    assert run("detect", CFG)[0] == 2
    status, text, said = run(
        "compare", CFG, WEIGHTS, KITE, "data/dog.jpg", "--json", "--variants", "stock,nix,packed"
    )
    lines = [json.loads(line) for line in text.splitlines()]
    assert status == 0 and [line["variant"] for line in lines] == ["packed", "stock", "nix"], (
        text + said
    )
    assert all(
        line["f1"] == 1 and line["boxes"] == line["same"] > 5 and line["ms"] > 0
        for line in lines[:2]
    )
    assert lines[2]["refused"] == "variant='nix' is no variant"
    status, text, said = run(
        "throughput", CFG, WEIGHTS, KITE, *"--threads 2 --rounds 1 --each 2 --json".split()
    )
    line = json.loads(text)
    assert status == 0 and line["threads"] == 2 and line["one_process"] > 0, text + said
    assert abs(line["ratio"] * line["processes_of_one_thread"] / line["one_process"] - 1) < 1e-9
    status, _, said = run("throughput", CFG, "none.weights", KITE)
    assert status == 1 and said.endswith("Couldn't open file: none.weights\n"), said
    assert "F1" in run("compare", CFG, WEIGHTS, KITE, "--variants", "packed")[1]


def compare_counts():
    """Boxes that moved, changed their class or came twice are not the same."""
    from darknet_gemm.__main__ import count_same

    box = darknet_gemm.Box("a", 0.9, 10, 10, 20, 20, 0)
    assert count_same([box], [box]) == 1 and count_same([box, box], [box]) == 1
    assert (
        count_same([box._replace(x=16)], [box]) == 1
        and count_same([box._replace(x=17)], [box]) == 0
    )
    assert (
        count_same([box._replace(index=1)], [box]) == 0
        and count_same([box._replace(x=50)], [box]) == 0
    )
    assert count_same([], [box]) == 0


def strides():
    """Every view of an array gives what its copy gives. Other elements than bytes are refused."""
    base = numpy.frombuffer(noise(120, 160, 4), "u1").reshape(120, 160, 4)
    views = {
        "rgb": base[..., :3],
        "bgr": base[..., 2::-1],
        "upside": base[::-1, :, :3],
        "mirror": base[:, ::-1, :3],
        "steps": base[::2, ::3, :3],
        "fortran": numpy.asfortranarray(base[..., :3]),
        "gray": base[..., 1],
        "turned": base[..., :3].transpose(1, 0, 2),
        "planes": base[..., :3].transpose(2, 0, 1).copy().transpose(1, 2, 0),
        "one": numpy.broadcast_to(base[:1, :1, :3], (50, 60, 3)),
    }
    for name, view in views.items():
        assert out(view) == out(numpy.ascontiguousarray(view)), name
    kept = base[..., :3].copy()
    kept.flags.writeable = False
    assert out(kept) == out(views["rgb"])
    assert len({out(view)[0] for view in views.values()}) == len(views) - 2  # rgb has three names
    for kind in ("i1", "f4", "u2", "bool"):
        refused("unsigned bytes", out, base[..., :3].astype(kind), kind=TypeError)
    refused("a picture is empty", out, base[:0])
    refused(
        "a picture of 40000 x 40000 is too large",
        out,
        numpy.broadcast_to(base[:1, :1, :3], (40000, 40000, 3)),
    )
    refused("is too large", out, numpy.broadcast_to(base[:1, :1, :3], (1, 1 << 40, 3)))
    assert numpy.asarray(shared().outputs(KITE)[0]).dtype == "f4"


def pil():
    from PIL import Image

    kite = Image.open("data/dog.jpg").resize((200, 150))
    want = out(kite)
    assert out(numpy.asarray(kite)) == want and out(kite.convert("RGBA")) == want
    assert out(kite.convert("L")) == out(numpy.asarray(kite.convert("L"))) != want
    assert out(kite.convert("CMYK").convert("RGB")) == out(kite.convert("CMYK"))
    out(kite.convert("P")), out(kite.convert("1"))
    refused("a picture is empty", out, Image.new("RGB", (0, 5)))


# ---- The run ----


def load_with(names):
    return darknet_gemm.Network(CFG, WEIGHTS, names)


def written(name, content):
    """The path of a new file."""
    path = os.path.join(work, name)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


CASES = [
    import_starts_nothing,
    import_hides_no_function,
    sources,
    channels,
    bad_pictures,
    errors_of_the_program,
    bad_options,
    bad_environment,
    environment,
    closed,
    boxes,
    many,
    without_boxes,
    old_names,
    threads,
    fork,
    spawn,
    batch,
    memory,
    notes,
    command_line,
    compare_counts,
]
WITH_NUMPY = [strides, pil]


def main(arguments):
    chosen = [
        case
        for case in CASES + WITH_NUMPY * ("--without-numpy" not in arguments)
        if case.__name__ in arguments or not set(arguments) - {"--without-numpy"}
    ]
    failed = 0
    for case in chosen:
        try:
            case()
            print("ok -", case.__name__)
        except Exception:  # each other case runs too
            failed += 1
            print("not ok -", case.__name__)
            print("# " + traceback.format_exc().rstrip().replace("\n", "\n# "))
        sys.stdout.flush()
    print(f"1..{len(chosen)}")
    return failed != 0


import darknet_gemm

with contextlib.suppress(ImportError):
    import numpy

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        sys.exit(main(sys.argv[1:]))
