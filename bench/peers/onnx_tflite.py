# SPDX-License-Identifier: MIT
"""Converts an ONNX file of darknet_onnx.py to TFLite's format, for LiteRT.

    python3 onnx_tflite.py FILE.onnx FILE.tflite

It knows the nodes that darknet_onnx.py writes, and refuses others. TFLite keeps the channels last:
an array is [image][row][column][channel] there, and ONNX has the channel before the row. So the
weights are turned here, and the caller turns the input and the outputs.

LiteRT's own package has the classes of the format. It and flatbuffers are imported where they are
needed, because they may be missing.
"""

import struct
import sys

FLOAT32, INT32 = 0, 2                   # TensorType of TFLite
SAME, VALID = 0, 1                      # Padding
NONE, RELU = 0, 1                       # ActivationFunctionType
LOWEST = -3.4e38                        # the border of a maxpool


class Refused(Exception):
    """The file cannot be converted; the text says why."""


# ---- ONNX: protocol buffers ----

def varint(data, at):
    """The number that begins at `at`, and the place behind it."""
    n, shift = 0, 0
    while True:
        byte = data[at]
        n |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return n, at


def fields(data):
    """The message as a dictionary: a list of values for each number of a field."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 5:
            value, at = struct.unpack_from('<f', data, at)[0], at + 4
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise Refused(f'a field of kind {kind}')
        found.setdefault(key >> 3, []).append(value)
    return found


def text(values):
    return [value.decode() for value in values]


class Node:
    """One operation: its kind, the names of what it reads and writes, and its attributes."""

    def __init__(self, data):
        message = fields(data)
        self.inputs = text(message.get(1, []))
        (self.output,), (self.kind,) = text(message[2]), text(message[4])
        self.attributes = {}
        for a in map(fields, message.get(5, [])):
            (name,), (kind,) = text(a[1]), a[20]
            field = {1: 2, 2: 3, 3: 4, 7: 8}[kind]
            self.attributes[name] = a[field] if kind == 7 else a[field][0]


class Model:
    """What an ONNX file holds. `tensors` has (dims, bytes of little-endian floats) by name."""

    def __init__(self, path):
        with open(path, 'rb') as file:
            graph = fields(fields(file.read())[7][0])
        self.nodes = [Node(data) for data in graph.get(1, [])]
        self.tensors = {}
        for t in map(fields, graph.get(5, [])):
            self.tensors[t[8][0].decode()] = t[1], t[9][0]
        ((self.input, self.dims),) = map(self.name_and_dims, graph[11])
        self.outputs = [self.name_and_dims(data)[0] for data in graph[12]]

    @staticmethod
    def name_and_dims(data):
        info = fields(data)
        shape = fields(fields(fields(info[2][0])[1][0])[2][0])
        return info[1][0].decode(), [fields(d)[1][0] for d in shape[1]]


# ---- TFLite ----

class Writer:
    """A TFLite model in the making."""

    def __init__(self, model):
        from ai_edge_litert import schema_py_generated as schema
        self.schema, self.source = schema, model
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.subgraphs = 3, [self.graph]
        self.model.operatorCodes, self.model.buffers = [], [schema.BufferT()]
        self.graph.tensors, self.graph.operators = [], []
        self.codes, self.places, self.shapes = {}, {}, {}
        n, channels, height, width = model.dims
        self.tensor(model.input, (n, height, width, channels))
        self.graph.inputs = [0]

    def tensor(self, name, shape, kind=FLOAT32, buffer=0):
        """A tensor. Buffer 0 is empty: an operation writes the values."""
        t = self.schema.TensorT()
        t.name, t.shape, t.type, t.buffer = name, list(shape), kind, buffer
        self.places[name], self.shapes[name] = len(self.graph.tensors), tuple(shape)
        self.graph.tensors.append(t)

    def constant(self, name, values, kind):
        """A tensor with values, of int32 or float32. Returns its name."""
        import numpy
        values = numpy.ascontiguousarray(values, dtype=kind)
        buffer = self.schema.BufferT()
        buffer.data = numpy.frombuffer(values.tobytes(), dtype='uint8')
        self.model.buffers.append(buffer)
        self.tensor(name, values.shape, INT32 if kind == 'int32' else FLOAT32,
                    len(self.model.buffers) - 1)
        return name

    def code(self, kind):
        """The index of an operation of TFLite by its name, such as CONV_2D."""
        if kind not in self.codes:
            code = self.schema.OperatorCodeT()
            code.builtinCode = getattr(self.schema.BuiltinOperator, kind)
            code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 1
            self.codes[kind] = len(self.model.operatorCodes)
            self.model.operatorCodes.append(code)
        return self.codes[kind]

    def add(self, kind, inputs, output, shape, options=None, **members):
        """An operation. `options` names its class of options, and `members` their values."""
        o = self.schema.OperatorT()
        self.tensor(output, shape)
        o.opcodeIndex = self.code(kind)
        o.inputs, o.outputs = [self.places[n] for n in inputs], [self.places[output]]
        if options:
            o.builtinOptionsType = getattr(self.schema.BuiltinOptions, options)
            o.builtinOptions = getattr(self.schema, options + 'T')()
            for name, value in members.items():
                setattr(o.builtinOptions, name, value)
        self.graph.operators.append(o)

    def values(self, name):
        """A constant of the ONNX file, as an array."""
        import numpy
        dims, data = self.source.tensors[name]
        return numpy.frombuffer(data, dtype='<f4').reshape(dims)

    def encode(self):
        import flatbuffers
        self.graph.outputs = [self.places[name] for name in self.source.outputs]
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(self.model.Pack(builder), b'TFL3')
        return builder.Output()


# ---- the nodes: each takes the writer, the node, the name of its output and the activation ----

def is_same(side, size, stride, before, out):
    """Whether TFLite's padding SAME gives so much before the first place, and so many places."""
    most = -(-side // stride)
    return out == most and before == max(0, (most - 1) * stride + size - side) // 2


def with_border(w, node, lowest):
    """For a node with a window: the name of its input, the padding, and the output's two sides.

    Where neither SAME nor VALID fits, the input gets a border of `lowest`.
    """
    a, source = node.attributes, node.inputs[0]
    size, stride, pads = a['kernel_shape'][0], a['strides'][0], a['pads']
    n, *sides, channels = w.shapes[source]
    out = [(side + first + last - size) // stride + 1
           for side, first, last in zip(sides, pads[:2], pads[2:])]
    if not any(pads):
        return source, VALID, out
    if all(is_same(side, size, stride, first, o) for side, first, o in zip(sides, pads, out)):
        return source, SAME, out
    name = f'{node.output}_input'
    w.constant(name + '_border', [[0, 0], [pads[0], pads[2]], [pads[1], pads[3]], [0, 0]], 'int32')
    shape = n, sides[0] + pads[0] + pads[2], sides[1] + pads[1] + pads[3], channels
    if lowest:
        w.constant(name + '_lowest', [lowest], 'float32')
        w.add('PADV2', [source, name + '_border', name + '_lowest'], name, shape, 'PadV2Options')
    else:
        w.add('PAD', [source, name + '_border'], name, shape, 'PadOptions')
    return name, VALID, out


def convolution(w, node, output, activation):
    _, weights, biases = node.inputs
    stride, groups = node.attributes['strides'][0], node.attributes['group']
    filters, channels = w.values(weights), w.shapes[node.inputs[0]][3]
    source, padding, sides = with_border(w, node, 0)
    members = {'padding': padding, 'strideH': stride, 'strideW': stride, 'dilationHFactor': 1,
               'dilationWFactor': 1, 'fusedActivationFunction': activation}
    if groups == 1:
        kind, options, turned = 'CONV_2D', 'Conv2DOptions', filters.transpose(0, 2, 3, 1)
    elif groups == channels == len(filters):
        kind, options = 'DEPTHWISE_CONV_2D', 'DepthwiseConv2DOptions'
        turned, members['depthMultiplier'] = filters.transpose(1, 2, 3, 0), 1
    else:
        raise Refused(f'{output}: {groups} groups of {channels} channels')
    w.constant(weights, turned, 'float32')
    w.constant(biases, w.values(biases), 'float32')
    w.add(kind, [source, weights, biases], output, (1, *sides, len(filters)), options, **members)


def maxpool(w, node, output, _):
    size, stride = node.attributes['kernel_shape'][0], node.attributes['strides'][0]
    source, padding, sides = with_border(w, node, LOWEST)
    w.add('MAX_POOL_2D', [source], output, (1, *sides, w.shapes[source][3]), 'Pool2DOptions',
          padding=padding, strideH=stride, strideW=stride, filterHeight=size, filterWidth=size)


def concat(w, node, output, _):
    for name in node.inputs:
        if name in w.source.tensors:
            w.constant(name, w.values(name).transpose(0, 2, 3, 1), 'float32')
    shapes = [w.shapes[name] for name in node.inputs]
    w.add('CONCATENATION', node.inputs, output, (*shapes[0][:3], sum(s[3] for s in shapes)),
          'ConcatenationOptions', axis=3)


def resize(w, node, output, _):
    n, height, width, channels = w.shapes[node.inputs[0]]
    times = int(w.values(node.inputs[2])[2])
    shape = n, times * height, times * width, channels
    size = w.constant(output + '_size', shape[1:3], 'int32')
    w.add('RESIZE_NEAREST_NEIGHBOR', [node.inputs[0], size], output, shape,
          'ResizeNearestNeighborOptions')


def average(w, node, output, _):
    n, _, _, channels = w.shapes[node.inputs[0]]
    axes = w.constant(output + '_axes', [1, 2], 'int32')
    w.add('MEAN', [node.inputs[0], axes], output, (n, 1, 1, channels), 'ReducerOptions',
          keepDims=True)


def add(w, node, output, activation):
    w.add('ADD', node.inputs, output, w.shapes[node.inputs[0]], 'AddOptions',
          fusedActivationFunction=activation)


def leaky(w, node, output, _):
    w.add('LEAKY_RELU', node.inputs, output, w.shapes[node.inputs[0]], 'LeakyReluOptions',
          alpha=node.attributes['alpha'])


def relu(w, node, output, _):
    w.add('RELU', node.inputs, output, w.shapes[node.inputs[0]])


def logistic(w, node, output, _):
    w.add('LOGISTIC', node.inputs, output, w.shapes[node.inputs[0]])


NODES = {'Conv': convolution, 'MaxPool': maxpool, 'Concat': concat, 'Resize': resize,
         'GlobalAveragePool': average, 'Add': add, 'LeakyRelu': leaky, 'Relu': relu,
         'Sigmoid': logistic}


def merged(nodes):
    """(node, name of its output, activation): a Relu right behind Conv or Add is part of it."""
    result = []
    for node, behind in zip(nodes, nodes[1:] + [None]):
        if node.kind == 'Relu' and result and result[-1][1:] == (node.output, RELU):
            continue
        fuses = (node.kind in ('Conv', 'Add') and behind and behind.kind == 'Relu' and
                 behind.inputs == [node.output])
        result.append((node, behind.output, RELU) if fuses else (node, node.output, NONE))
    return result


def convert(source, target):
    model = Model(source)
    w = Writer(model)
    for node, output, activation in merged(model.nodes):
        if node.kind not in NODES:
            raise Refused(f'{output}: a node {node.kind}; these are known: {" ".join(NODES)}')
        NODES[node.kind](w, node, output, activation)
    with open(target, 'wb') as file:
        file.write(w.encode())


def main():
    if len(sys.argv) != 3:
        sys.exit('usage: onnx_tflite.py FILE.onnx FILE.tflite')
    try:
        convert(*sys.argv[1:])
    except (OSError, ImportError, Refused) as error:
        sys.exit(f'onnx_tflite: {error}')


if __name__ == '__main__':
    main()
