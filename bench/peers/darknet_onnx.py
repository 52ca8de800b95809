# SPDX-License-Identifier: MIT
"""Writes a Darknet network (cfg and weights) as ONNX, for the runtimes of `make bench-peers`.

    python3 darknet_onnx.py CFG WEIGHTS FILE.onnx

A layer becomes one or two ONNX nodes. Batch norm is folded into the weights and the bias of its
convolution. The graph's outputs are the raw values: what each [yolo], [region] and [detection]
layer reads, or what the last layer gives before softmax and cost. What the writer does not know is
an error. Options of training and of drawing are skipped, and so are options that it has not heard
of: bench/peers/peers.py compares the outputs of each run with Darknet's.

ONNX is a protocol buffers message. Message encodes the few kinds of fields that are needed, so
that Python's own library is enough. Source of the numbers: onnx/onnx.proto of ONNX 1.12.
"""

import array
import math
import struct
import sys

IR_VERSION = 7
OPSET = 13
FLOAT, INT64 = 1, 7                     # TensorProto.DataType
DETECTORS = ('yolo', 'region', 'detection')
ACTIVATIONS = ('linear', 'leaky', 'relu', 'logistic')


class Refused(Exception):
    """The network cannot be written; the text says why."""


# ---- protocol buffers ----

def varint(n):
    """Seven bits a byte, the lowest first; the top bit says that more follow."""
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


class Message:
    """One message; fields are added in any order."""

    def __init__(self):
        self.parts = []

    def number(self, field, n):
        self.parts.append(varint(field << 3) + varint(n))
        return self

    def real(self, field, x):
        self.parts.append(varint(field << 3 | 5) + struct.pack('<f', x))
        return self

    def data(self, field, value):
        """value: str, bytes or Message."""
        if isinstance(value, Message):
            value = value.encode()
        elif isinstance(value, str):
            value = value.encode()
        self.parts += [varint(field << 3 | 2) + varint(len(value)), value]
        return self

    def encode(self):
        return b''.join(self.parts)


def attribute(name, value):
    """AttributeProto of a float, an int, a str or a list of ints."""
    m = Message().data(1, name)
    if isinstance(value, float):
        return m.real(2, value).number(20, 1)
    if isinstance(value, int):
        return m.number(3, value).number(20, 2)
    if isinstance(value, str):
        return m.data(4, value).number(20, 3)
    for n in value:
        m.number(8, n)
    return m.number(20, 7)


def tensor(name, dims, values):
    """TensorProto of an array of floats."""
    m = Message()
    for n in dims:
        m.number(1, n)
    return m.number(2, FLOAT).data(8, name).data(9, little_endian(values).tobytes())


def value_info(name, dims):
    shape = Message()
    for n in dims:
        shape.data(1, Message().number(1, n))
    kind = Message().number(1, FLOAT).data(2, shape)
    return Message().data(1, name).data(2, Message().data(1, kind))


def little_endian(values):
    if sys.byteorder == 'big':
        values = values[:]
        values.byteswap()
    return values


# ---- Darknet's files ----

class Section:
    """A [section] of a cfg with its options."""

    def __init__(self, path, line, kind):
        self.where, self.kind, self.options = f'{path}, line {line}', kind, {}

    def refuse(self, why):
        raise Refused(f'{self.where}: [{self.kind}]: {why}')

    def number(self, name, default, convert=int):
        text = self.options.get(name, str(default))
        try:
            return convert(text)
        except ValueError:
            self.refuse(f'{name}={text} is no number')

    def only(self, name, allowed, convert=int):
        """Refuses the option unless it is absent or has the value that Darknet assumes."""
        if self.number(name, allowed, convert) != allowed:
            self.refuse(f'{name}={self.options[name]} is not supported; only {allowed} is')

    def activation(self, default):
        name = self.options.get('activation', default)
        if name not in ACTIVATIONS:
            self.refuse(f'activation={name} is not supported; these are: {" ".join(ACTIVATIONS)}')
        return name


def read_cfg(path):
    """The sections of a cfg. Darknet drops blanks anywhere in a line."""
    sections = []
    with open(path, encoding='latin-1') as file:
        for number, line in enumerate(file, 1):
            line = ''.join(line.split())
            if not line or line[0] in '#;':
                continue
            if line[0] == '[':
                sections.append(Section(path, number, line.strip('[]')))
            elif '=' in line and sections:
                name, value = line.split('=', 1)
                sections[-1].options[name] = value
            else:
                raise Refused(f'{path}, line {number}: neither [section] nor name=value: {line}')
    if len(sections) < 2 or sections[0].kind not in ('net', 'network'):
        raise Refused(f'{path}: a [net] section and at least one layer are needed')
    return sections


class Weights:
    """The floats of a weights file, in order."""

    def __init__(self, path, alexeyab=False):
        self.path = path
        self.alexeyab = alexeyab
        self.file = open(path, 'rb')
        header = self.file.read(12)
        if len(header) < 12:
            raise Refused(f'{path}: too short for a weights file')
        major, minor, _ = struct.unpack('<3i', header)
        # The number of images seen: 8 bytes since version 0.2, before that 4.
        self.file.read(8 if major * 10 + minor >= 2 and major < 1000 and minor < 1000 else 4)

    def take(self, n):
        values = array.array('f')
        values.frombytes(self.file.read(4 * n))
        if len(values) < n:
            raise Refused(f'{self.path}: too short for this cfg')
        return little_endian(values)


# ---- the graph ----

class Layer:
    """What later layers need of a layer: the name of its output, and c, h, w."""

    def __init__(self, name, c, h, w):
        self.name, self.c, self.h, self.w = name, c, h, w


class Graph:
    """An ONNX graph in the making, for batches of one image."""

    def __init__(self, net):
        self.nodes, self.tensors, self.outputs = [], [], []
        self.layers = []                # of the cfg so far, without [net]
        sides = (net.number(name, 0) for name in ('channels', 'height', 'width'))
        self.input = Layer('input', *sides)
        if min(self.input.c, self.input.h, self.input.w) < 1:
            net.refuse('channels, height and width are needed')

    def node(self, kind, inputs, output, **attributes):
        m = Message()
        for name in inputs:
            m.data(1, name)
        m.data(2, output).data(3, output).data(4, kind)
        for name, value in attributes.items():
            m.data(5, attribute(name, value))
        self.nodes.append(m)
        return output

    def constant(self, name, dims, values):
        self.tensors.append(tensor(name, dims, values))
        return name

    def add_output(self, layer):
        if all(layer.name != other.name for other in self.outputs):
            self.outputs.append(layer)

    def earlier(self, section, text):
        """The layer that an index means: absolute, or below zero relative to this layer."""
        try:
            index = int(text)
        except ValueError:
            section.refuse(f'{text} is no number of a layer')
        if index < 0:
            index += len(self.layers)
        if not 0 <= index < len(self.layers) or self.layers[index] is None:
            section.refuse(f'{text} is no earlier layer with an output')
        return self.layers[index]

    def activate(self, name, activation):
        if activation == 'leaky':
            return self.node('LeakyRelu', [name], name + '_leaky', alpha=0.1)
        if activation == 'relu':
            return self.node('Relu', [name], name + '_relu')
        if activation == 'logistic':
            return self.node('Sigmoid', [name], name + '_logistic')
        return name

    def encode(self):
        graph = Message().data(2, 'darknet')
        for m in self.nodes:
            graph.data(1, m)
        for m in self.tensors:
            graph.data(5, m)
        for field, layers in ((11, [self.input]), (12, self.outputs)):
            for l in layers:
                graph.data(field, value_info(l.name, (1, l.c, l.h, l.w)))
        opset = Message().data(1, '').number(2, OPSET)
        return Message().number(1, IR_VERSION).data(2, 'darknet_onnx').data(8, opset) \
            .data(7, graph).encode()


# ---- the layers: each takes the section and its input, and returns a Layer ----

def folded(weights, n, taps, normalize):
    """Weights (n filters of `taps`) and biases, as [convolutional] has them in the file.

    Batch norm is scale * (x - mean) / (sqrt(variance) + 0.000001) + bias. By AlexeyAB's rules it divides by
    sqrt(variance + 0.00001).
    """
    biases = weights.take(n)
    if not normalize:
        return weights.take(n * taps), biases
    scales, means, variances = weights.take(n), weights.take(n), weights.take(n)
    values = weights.take(n * taps)
    for f in range(n):
        if not variances[f] >= 0:
            raise Refused(f'{weights.path}: a variance is {variances[f]}: weights of another cfg?')
        root = math.sqrt(variances[f] + .00001) if weights.alexeyab else math.sqrt(variances[f]) + .000001
        scale = scales[f] / root
        biases[f] -= scale * means[f]
        mine = slice(f * taps, (f + 1) * taps)
        values[mine] = array.array('f', (scale * x for x in values[mine]))
    return values, biases


def convolutional(graph, s, x, name, weights):
    n, size, stride = s.number('filters', 1), s.number('size', 1), s.number('stride', 1)
    groups = s.number('groups', 1)
    pad = size // 2 if s.number('pad', 0) else s.number('padding', 0)
    activation = s.activation('logistic')
    for option in ('binary', 'xnor', 'flipped', 'dontload', 'dontloadscales', 'numload'):
        s.only(option, 0)
    if min(n, size, stride, groups) < 1 or pad < 0 or x.c % groups or n % groups:
        s.refuse(f'filters={n} size={size} stride={stride} groups={groups} on {x.c} channels')
    if size == 1 and (stride != 1 or pad):
        s.refuse('Darknet reads a 1x1 layer with a stride or padding in a way of its own')
    h, w = ((side + 2 * pad - size) // stride + 1 for side in (x.h, x.w))
    taps = x.c // groups * size * size
    values, biases = folded(weights, n, taps, s.number('batch_normalize', 0))
    inputs = [x.name, graph.constant(name + '_weights', (n, x.c // groups, size, size), values),
              graph.constant(name + '_biases', (n,), biases)]
    graph.node('Conv', inputs, name, kernel_shape=[size, size], strides=[stride, stride],
               pads=[pad] * 4, group=groups)
    return Layer(graph.activate(name, activation), n, h, w)


def maxpool(graph, s, x, name, _):
    """Darknet pads `padding` in all: the half of it, rounded down, before the first place."""
    stride = s.number('stride', 1)
    size = s.number('size', stride)
    padding = s.number('padding', size - 1)
    if min(size, stride) < 1 or padding < 0:
        s.refuse(f'size={size} stride={stride} padding={padding}')
    before = padding // 2
    h, w = ((side + padding - size) // stride + 1 for side in (x.h, x.w))
    after = [max(0, (out - 1) * stride + size - before - side)
             for out, side in ((h, x.h), (w, x.w))]
    graph.node('MaxPool', [x.name], name, kernel_shape=[size, size], strides=[stride, stride],
               pads=[before, before] + after)
    return Layer(name, x.c, h, w)


def avgpool(graph, _s, x, name, _):
    return Layer(graph.node('GlobalAveragePool', [x.name], name), x.c, 1, 1)


def upsample(graph, s, x, name, _):
    stride = s.number('stride', 2)
    s.only('scale', 1, float)
    if stride < 1:
        s.refuse(f'stride={stride} is not supported; only 1 and above are')
    scales = graph.constant(name + '_scales', (4,), array.array('f', (1, 1, stride, stride)))
    graph.node('Resize', [x.name, '', scales], name, mode='nearest', nearest_mode='floor',
               coordinate_transformation_mode='asymmetric')
    return Layer(name, x.c, stride * x.h, stride * x.w)


def route(graph, s, _x, name, _):
    s.only('groups', 1)
    layers = [graph.earlier(s, text) for text in s.options.get('layers', '').split(',')]
    if len(layers) == 1:
        return layers[0]
    first = layers[0]
    if any((l.h, l.w) != (first.h, first.w) for l in layers):
        s.refuse('the layers are not equally large')
    graph.node('Concat', [l.name for l in layers], name, axis=1)
    return Layer(name, sum(l.c for l in layers), first.h, first.w)


def shortcut(graph, s, x, name, _):
    """Darknet adds every n-th place of a larger input, and none to the channels that it lacks."""
    other = graph.earlier(s, s.options.get('from', ''))
    activation = s.activation('linear')
    s.only('alpha', 1, float)
    s.only('beta', 1, float)
    stride = other.h // x.h
    if (other.h, other.w) != (stride * x.h, stride * x.w) or other.c > x.c:
        s.refuse(f'{other.c}x{other.h}x{other.w} cannot be added to {x.c}x{x.h}x{x.w}')
    added = other.name
    if stride > 1:
        added = graph.node('MaxPool', [added], name + '_places', kernel_shape=[1] * 2,
                           strides=[stride] * 2, pads=[0] * 4)
    if other.c < x.c:
        dims = 1, x.c - other.c, x.h, x.w
        zeros = graph.constant(name + '_zeros', dims, array.array('f', [0]) * math.prod(dims))
        added = graph.node('Concat', [added, zeros], name + '_channels', axis=1)
    graph.node('Add', [x.name, added], name)
    return Layer(graph.activate(name, activation), x.c, x.h, x.w)


def dropout(_graph, _s, x, _name, _):
    """It does nothing at inference."""
    return x


LAYERS = {
    'convolutional': convolutional, 'conv': convolutional, 'maxpool': maxpool, 'max': maxpool,
    'avgpool': avgpool, 'avg': avgpool, 'upsample': upsample, 'route': route,
    'shortcut': shortcut, 'dropout': dropout,
}
LAST = ('softmax', 'soft', 'cost')


def build(cfg, weights_path, alexeyab=False):
    """The Graph of a network, by AlexeyAB's rules or not."""
    net, *sections = read_cfg(cfg)
    weights = Weights(weights_path, alexeyab or net.options.get('darknet') == 'alexeyab')
    graph = Graph(net)
    x = graph.input
    for i, s in enumerate(sections):
        if s.kind in DETECTORS + LAST:
            if s.kind in DETECTORS and x:
                graph.add_output(x)
            elif s.kind in LAST and any(later.kind not in LAST for later in sections[i:]):
                s.refuse('it is supported at the end of a network only')
            graph.layers.append(None)
            x = x if s.kind in LAST else None
            continue
        if s.kind not in LAYERS:
            s.refuse(f'this layer is not supported; these are: {" ".join(sorted(LAYERS))} '
                     f'{" ".join(DETECTORS + LAST)}')
        if x is None and s.kind != 'route':
            s.refuse('it reads what a detection layer gives')
        x = LAYERS[s.kind](graph, s, x, f'{s.kind}_{i}', weights)
        if min(x.c, x.h, x.w) < 1:
            s.refuse(f'its output is {x.c}x{x.h}x{x.w}')
        graph.layers.append(x)
    if x:
        graph.add_output(x)
    return graph


def write(cfg, weights, path, alexeyab=False):
    """Writes the network; returns its input and its outputs as Layers."""
    graph = build(cfg, weights, alexeyab)
    with open(path, 'wb') as file:
        file.write(graph.encode())
    return graph.input, graph.outputs


def main():
    if len(sys.argv) != 4:
        sys.exit('usage: darknet_onnx.py CFG WEIGHTS FILE.onnx')
    try:
        write(*sys.argv[1:])
    except (OSError, Refused) as error:
        sys.exit(f'darknet_onnx: {error}')


if __name__ == '__main__':
    main()
