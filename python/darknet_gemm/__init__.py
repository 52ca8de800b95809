# SPDX-License-Identifier: MIT
"""Boxes from a Darknet cfg, its weights and pictures. docs/python.md has the whole of it.

    net = darknet_gemm.Network("yolov4-tiny.cfg", "yolov4-tiny.weights", names="coco.names")
    for box in net.detect("kite.jpg", threshold=.5):
        print(box.label, box.confidence, box.x, box.y, box.width, box.height)
"""

import collections
import contextlib
import ctypes
import itertools
import os
import re
import threading
import warnings
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int64, c_ssize_t, c_void_p

__all__ = ["Box", "Error", "Network", "detect", "load_meta", "load_net", "variants"]

_HERE = os.path.dirname(os.path.abspath(__file__))


class Error(Exception):
    """What Darknet refused, in the line that ./darknet prints."""


class Box(collections.namedtuple("Box", "label confidence x y width height index")):
    """x and y are the upper left corner. All four are pixels of the picture, and may lie outside of
    it. index is the number of the class."""

    __slots__ = ()


# ---- The library: src/python/calls.c ----

class _CBox(ctypes.Structure):
    _fields_ = [("index", c_int), ("confidence", c_float),
                ("x", c_float), ("y", c_float), ("w", c_float), ("h", c_float)]


class _CImage(ctypes.Structure):
    _fields_ = [("w", c_int), ("h", c_int), ("c", c_int), ("data", c_void_p)]


class _CNetwork(ctypes.Structure):
    _fields_ = [("net", c_void_p), ("log", c_char_p), ("cfg", c_char_p), ("weights", c_char_p),
                ("shares", c_void_p), ("share_count", c_int)]


class _CPass(ctypes.Structure):
    _fields_ = [("net", c_void_p), ("path", c_char_p), ("data", c_void_p), ("bytes", c_int64),
                ("w", c_int64), ("h", c_int64), ("c", c_int64),
                ("column", c_int64), ("row", c_int64), ("channel", c_int64),
                ("threshold", c_float), ("nms", c_float), ("names", POINTER(c_char_p)),
                ("save", c_char_p), ("letters", c_char_p), ("why", c_void_p),
                ("boxes", POINTER(_CBox)), ("count", c_int), ("seconds", c_double),
                ("picture", _CImage), ("decoded", c_void_p),
                ("found", c_void_p), ("found_count", c_int)]


class _CView(ctypes.Structure):
    """Py_buffer of CPython."""

    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t),
                ("readonly", c_int), ("ndim", c_int), ("format", c_char_p), ("shape", c_void_p),
                ("strides", c_void_p), ("suboffsets", c_void_p), ("internal", c_void_p)]


def _open_library():
    library = ctypes.CDLL(os.path.join(_HERE, "libdarknet.so"))
    library.py_variant.restype = c_char_p
    library.py_output.restype = c_void_p
    library.py_output.argtypes = [c_void_p, c_int, c_int * 3]
    library.py_has_boxes.argtypes = [c_void_p]
    library.py_unload.restype = None
    library.py_detect_many.restype = None
    library.free.argtypes = [c_void_p]
    return library


_library = _open_library()


def _call(function, *arguments):
    """Calls a function of the library that can fail."""
    why = ctypes.create_string_buffer(2048)
    if function(*arguments, why):
        raise Error(why.value.decode(errors="replace"))


class _Turns:
    """The library has one variant and one number of threads at a time. Passes with the same ones
    run at once, and others wait for their end. A fork waits for the end of all, so that a child has
    whole networks. Who came first is first, so nobody waits for ever."""

    def __init__(self):
        self.changed = threading.Condition(threading.Lock())
        self.waiting = collections.deque()
        self.running = 0
        self.chosen = None

    def _wait_for(self, may_run):
        """With the lock."""
        ticket = object()
        self.waiting.append(ticket)
        try:
            self.changed.wait_for(lambda: self.waiting[0] is ticket and may_run())
        finally:
            self.waiting.remove(ticket)
            self.changed.notify_all()

    @contextlib.contextmanager
    def of(self, variant, threads):
        with self.changed:
            self._wait_for(lambda: not self.running or self.chosen == (variant, threads))
            if self.chosen != (variant, threads):
                self.chosen = None
                _call(_library.py_choose, variant and variant.encode(), threads or 0)
                self.chosen = variant, threads
            self.running += 1
        try:
            yield
        finally:
            with self.changed:
                self.running -= 1
                self.changed.notify_all()

    def before_fork(self):
        self.changed.acquire()
        self._wait_for(lambda: not self.running)

    def after_fork_in_parent(self):
        self.changed.release()


_turns = _Turns()
os.register_at_fork(before=_turns.before_fork, after_in_parent=_turns.after_fork_in_parent,
                    after_in_child=_turns.__init__)


def variants():
    """The names of all variants that can compute whole layers here."""
    names, usable = [], c_int()
    with _turns.of(None, None):
        for i in itertools.count():
            name = _library.py_variant(i, ctypes.byref(usable))
            if name is None:
                return names
            names += [name.decode()] * usable.value


# ---- Pictures ----

_FORMATS = ("a picture is a path, the bytes of a file, or an array of unsigned bytes, "
            "(height, width) or (height, width, channels)")


@contextlib.contextmanager
def _strided(pixels):
    """Address, shape and strides of an array, without a copy where Python allows that."""
    view = memoryview(pixels)
    if view.format not in ("B", "<B", "=B", "@B") or view.ndim not in (2, 3):
        raise TypeError(f"{_FORMATS}; this one has {view.ndim} dimensions, format '{view.format}'")
    try:
        get, release = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
    except AttributeError:              # PyPy
        copy, strides = view.tobytes(), [1]
        for side in reversed(view.shape[1:]):
            strides.insert(0, strides[0] * side)
        yield ctypes.cast(copy, c_void_p).value, view.shape, strides
        return
    raw = _CView()
    get(ctypes.py_object(view), ctypes.byref(raw), 0x18)        # PyBUF_STRIDES
    try:
        yield raw.buf, view.shape, view.strides
    finally:
        release(ctypes.byref(raw))


def _of_pil(picture):
    """An image of PIL as an array. Other modes than 8 bits of gray or colour are converted."""
    if picture.mode not in ("L", "RGB", "RGBA"):
        picture = picture.convert("RGB")
    width, height = picture.size
    pixels = memoryview(picture.tobytes())
    return pixels.cast("B", (height, width, len(picture.getbands()))) if pixels.nbytes else pixels


@contextlib.contextmanager
def _pass_of(picture):
    """A _CPass with the picture in it."""
    if isinstance(picture, (str, os.PathLike)):
        yield _CPass(path=os.fsencode(picture))
        return
    if hasattr(picture, "getbands") and hasattr(picture, "tobytes"):
        picture = _of_pil(picture)
    try:
        view = memoryview(picture)
    except TypeError:
        raise TypeError(f"{_FORMATS}; not {type(picture).__name__}") from None
    if view.nbytes == 0:
        raise Error("a picture is empty")
    if view.ndim == 1:
        content = view.tobytes() if not isinstance(picture, bytes) else picture
        yield _CPass(data=ctypes.cast(content, c_void_p), bytes=len(content))
        return
    with _strided(view) as (address, shape, strides):
        height, width, channels = (*shape, 1)[:3]
        row, column, channel = (*strides, 1)[:3]
        yield _CPass(data=address, w=width, h=height, c=channels,
                     row=row, column=column, channel=channel)


# ---- Networks ----

# What a network prints while it is loaded, unless something is wrong.
_USUAL = re.compile(r"\s*$|layer +filters |\s*\d+ \S|\S+: Using default '|"
                    r"Loading weights from .*\.\.\.Done!$")


def _read_names(names, classes):
    if names is None and classes == 80:
        names = os.path.join(_HERE, "coco.names")
    if names is None:
        names = []
    elif isinstance(names, (str, os.PathLike)):
        with open(names, encoding="utf-8", errors="replace") as file:
            names = file.read().splitlines()
    return [*names] + [str(i) for i in range(len(names), classes)]


_loading = threading.Lock()             # Darknet loads one network at a time, and draws one picture
_letters = []


def _read_letters():
    """What labels are drawn with. The library keeps its address."""
    if not _letters:
        with open(os.path.join(_HERE, "letters"), "rb") as file:
            _letters.append(file.read())
    return _letters[0]


class Network:
    """A network of Darknet.

    names: a file with a name in each line, or a list. Without it, 80 classes have COCO's names, and
    others have their numbers.
    threads, variant: as GEMM_THREADS and GEMM_IMPL. None: those of the environment.
    Several threads may use a network, and take turns. A pickled one loads its files again.
    """

    def __init__(self, cfg, weights, names=None, threads=None, variant=None):
        self._own = _CNetwork()
        self._lock = threading.Lock()
        if threads is not None and (not isinstance(threads, int) or not 1 <= threads <= 1024):
            raise ValueError(f"threads={threads!r} is no whole number from 1 to 1024")
        self._settings = variant, threads
        self._files = os.path.abspath(os.fspath(cfg)), os.path.abspath(os.fspath(weights)), names
        self._own.cfg, self._own.weights = os.fsencode(cfg), os.fsencode(weights)
        with _turns.of(*self._settings), _loading:
            _call(_library.py_load, ctypes.byref(self._own))
        for line in (self._own.log or b"").decode(errors="replace").splitlines():
            if not _USUAL.match(line):
                warnings.warn(line, stacklevel=2)
        self.classes = _library.py_classes(ctypes.byref(self._own))
        self._has_boxes = bool(_library.py_has_boxes(self._own.net))
        self.names = _read_names(names, self.classes)

    def __reduce__(self):
        cfg, weights, names = self._files
        variant, threads = self._settings
        return Network, (cfg, weights, names, threads, variant)

    def close(self):
        """Frees the network. More calls of this do nothing."""
        with self._lock:
            _library.py_unload(ctypes.byref(self._own))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __del__(self):
        if _library is not None and getattr(self, "_own", None) is not None:
            _library.py_unload(ctypes.byref(self._own))

    @contextlib.contextmanager
    def _run(self, function, picture, **members):
        """The _CPass of a picture, while it lasts."""
        drawing = _loading if "save" in members else contextlib.nullcontext()
        with _pass_of(picture) as call, _turns.of(*self._settings), self._lock, drawing:
            self._must_be_open()
            call.net = self._own.net
            for name, value in members.items():
                setattr(call, name, value)
            _call(function, ctypes.byref(call))
            try:
                yield call
            finally:
                _library.free(call.boxes)

    def _must_be_open(self):
        if not self._own.net:
            raise Error("the network is closed")

    def _must_have_boxes(self):
        if not self._has_boxes:
            raise Error("this network has no layer that gives boxes: use outputs")

    def _boxes(self, picture, threshold, nms, **members):
        """The boxes in parts of the picture, its width and height, and the network's seconds."""
        self._must_have_boxes()
        members.update(threshold=threshold, nms=nms)
        with self._run(_library.py_detect, picture, **members) as call:
            return self._found(call)

    def _found(self, call):
        boxes = [(b.index, b.confidence, b.x, b.y, b.w, b.h) for b in call.boxes[:call.count]]
        return boxes, call.w, call.h, call.seconds

    def detect(self, picture, threshold=.5, nms=.45):
        """A list of Box, the surest first. Boxes of a class that overlap by more than `nms` are
        one. 0 keeps all."""
        return self._label(*self._boxes(picture, threshold, nms))

    def _label(self, boxes, width, height, seconds):
        return [Box(self.names[i], confidence, (x - w / 2) * width, (y - h / 2) * height,
                    w * width, h * height, i)
                for i, confidence, x, y, w, h in boxes]

    def detect_many(self, pictures, threshold=.5, nms=.45):
        """A list of what detect returns, for each picture. Where they are at least as many as
        threads, each thread takes pictures of its own."""
        at_once = 1024 if hasattr(pictures, "__len__") else 64  # others may be made one by one
        pictures, found = iter(pictures), []
        while some := list(itertools.islice(pictures, at_once)):
            found += self._detect_at_once(some, threshold, nms)
        return found

    def _detect_at_once(self, pictures, threshold, nms):
        self._must_have_boxes()
        calls = (_CPass * len(pictures))()
        with contextlib.ExitStack() as stack:
            for i, picture in enumerate(pictures):
                calls[i] = stack.enter_context(_pass_of(picture))
                calls[i].threshold, calls[i].nms = threshold, nms
            stack.enter_context(_turns.of(*self._settings))
            stack.enter_context(self._lock)
            self._must_be_open()
            _library.py_detect_many(ctypes.byref(self._own), calls, len(calls))
        try:
            for call in calls:
                if call.why:
                    raise Error(ctypes.string_at(call.why).decode(errors="replace"))
            return [self._label(*self._found(call)) for call in calls]
        finally:
            for call in calls:
                _library.free(call.boxes)
                _library.free(call.why)

    def save(self, picture, path, threshold=.5, nms=.45):
        """As detect, and writes the picture with its boxes to a file whose name ends with .jpg."""
        path = os.fsencode(path)
        if not path.endswith(b".jpg"):
            raise ValueError(f"{os.fsdecode(path)!r} does not end with .jpg")
        names = (c_char_p * len(self.names))(*[name.encode() for name in self.names])
        return self._label(*self._boxes(picture, threshold, nms, names=names, save=path[:-4],
                                        letters=_read_letters()))

    def outputs(self, picture):
        """The raw outputs: a memoryview of floats (channels, height, width) for each layer that
        gives boxes, else for the last layer. numpy.asarray takes them."""
        found = []
        with self._run(_library.py_predict, picture) as call:
            shape = (c_int * 3)()
            while True:
                address = _library.py_output(call.net, len(found), shape)
                if not address:
                    return found
                content = ctypes.string_at(address, 4 * shape[0] * shape[1] * shape[2])
                found.append(memoryview(content).cast("f", shape=list(shape)))


# ---- Names of Darknet's own python/darknet.py, for scripts that import them ----

Meta = collections.namedtuple("Meta", "classes names")


def load_net(cfg, weights, clear=0):
    """A Network. `clear` is for training alone, and counts for nothing here."""
    return Network(os.fsdecode(cfg), os.fsdecode(weights))


def load_meta(path):
    """Classes and names of a .data file, names as bytes."""
    with open(path, encoding="utf-8") as file:
        pairs = [line.split("=", 1) for line in file if "=" in line and not line.startswith("#")]
    options = {key.strip(): value.strip() for key, value in pairs}
    with open(options.get("names") or options["labels"], "rb") as file:
        names = file.read().splitlines()
    return Meta(int(options.get("classes", len(names))), names)


def detect(net, meta, image, thresh=.5, hier_thresh=.5, nms=.45):
    """A list of (name, confidence, (x, y, width, height)) with x and y in the middle of the box."""
    if isinstance(image, bytes):
        image = os.fsdecode(image)
    boxes, width, height, _ = net._boxes(image, thresh, nms)
    return [(meta.names[i], confidence, (x * width, y * height, w * width, h * height))
            for i, confidence, x, y, w, h in boxes]
