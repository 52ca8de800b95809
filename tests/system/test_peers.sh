#!/bin/sh
# SPDX-License-Identifier: MIT
# `make bench-peers` without its Python packages: what the ONNX writer refuses and folds, what the
# converter for LiteRT reads and merges, the options, the verdict, the environment from PyPI, and a
# whole run with a false onnxruntime that is right, wrong or crashes. What the true runtimes compute is
# compared in each run of `make bench-peers`.
. tests/support/lib.sh

bench=$OUT/bench/bench_detect
cfg=cfg/kite-demo.cfg weights=cfg/kite-demo.weights
export PYTHONDONTWRITEBYTECODE=1

# ---- bench_detect --serve ----
serve() { echo "$1" | "$bench" --serve --threads 1 data/kite.jpg $cfg=$weights; }
expect_failure serve-command "bench_detect: 'turn 0' is none of 'machine'," serve 'turn 0'
expect_failure serve-unwritable 'bench_detect: cannot write /nowhere/raw: No such file' serve 'raw /nowhere/raw'
expect_failure serve-two-counts 'bench_detect --serve --threads N IMAGE' \
    "$bench" --serve --threads 1,2 data/kite.jpg $cfg
serve 'turn 2' >"$work/output" 2>/dev/null
check serve-turn grep -Eqx '[0-9]+\.[0-9]+' "$work/output"
serve first >"$work/output" 2>/dev/null
check serve-first grep -Eqx '[0-9]+\.[0-9]+ [1-9][0-9]{3,}' "$work/output"

# ---- the first pass of new processes ----
phases=$OUT/bench/darknet_phases
bench/studies/cold.sh "$bench" "$phases" 1 2 data/kite.jpg $cfg=$weights >"$work/output" 2>"$work/err"
check cold [ "$(grep -c '^kite-demo .*[0-9]$' "$work/output") $(grep -c . "$work/err")" = '15 0' ]
is_phase() { check "phase-$1" grep -Eq "^kite-demo +$1 +$2 +[0-9.]+ +[0-9.]+ +[0-9.]+$" "$work/output"; }
for phase in letters cfg weights prepare wait pass boxes drawing writing; do is_phase $phase main; done
for phase in read fit; do is_phase $phase beside; done
check phases-in-order [ "$(awk '$3 == "main" { printf "%s ", $2 }' "$work/output")" = \
    'letters cfg weights prepare wait pass boxes drawing writing ' ]
expect_failure cold-network "nowhere.cfg" bench/studies/cold.sh "$bench" "$phases" 1 1 data/kite.jpg nowhere.cfg

# ---- venv.sh, with a false pip ----
mkdir -p "$work/venv/bin" "$work/bin"
# pip_fails PATTERN: pip, which cannot get the packages of a pattern
pip_fails()
{
    printf '#!/bin/sh\nfor last; do :; done\ncase $last in %s) echo "no such $last"; exit 1 ;; esac\n' \
        "$1" >"$work/venv/bin/pip"
    chmod +x "$work/venv/bin/pip"
}
printf '#!/bin/sh\necho "no ensurepip here"\nexit 1\n' >"$work/bin/python3"
chmod +x "$work/bin/python3"
expect_failure venv-no-venv 'apt-get install python3-venv): no ensurepip here' \
    env PATH="$work/bin:$PATH" bench/peers/venv.sh "$work/other"
command -v python3 >/dev/null 2>&1 || { skip peers-python 'python3 is not installed'; finish; }
pip_fails '*'
bench/peers/venv.sh "$work/venv" >"$work/output" 2>/dev/null
check venv-skip [ "$? $(grep -c '^SKIP pip cannot get numpy==[0-9.]*: no such numpy' "$work/output")" = '3 1' ]
pip_fails 'ncnn*'
bench/peers/venv.sh "$work/venv" >"$work/output" 2>/dev/null
check venv-one-missing [ "$? $(cat "$work/output")" = \
    "0 $(sed -n 's/^ncnn.*/& cannot be installed: no such &/p' bench/peers/requirements.txt)" ]
check venv-tried-again [ ! -e "$work/venv/complete" ]
pip_fails nothing
check venv-complete bench/peers/venv.sh "$work/venv"
pip_fails '*'
check venv-not-again bench/peers/venv.sh "$work/venv"
more=bench/peers/requirements-int8.txt
pip_fails 'nncf*'
bench/peers/venv.sh "$work/venv" $more >"$work/output" 2>/dev/null
check venv-more-missing [ "$? $(cat "$work/output")" = \
    "0 $(sed -n 's/^nncf.*/& cannot be installed: no such &/p' $more)" ]
pip_fails nothing
check venv-more bench/peers/venv.sh "$work/venv" $more
pip_fails '*'
check venv-more-not-again bench/peers/venv.sh "$work/venv" $more
check venv-more-is-kept bench/peers/venv.sh "$work/venv"

# ---- the ONNX writer ----
# refuses NAME MESSAGE LAYER...: a cfg of 3 channels with these layers, \n between their lines
refuses()
{
    name=$1 message=$2
    shift 2
    printf '[net]\nwidth=8\nheight=8\nchannels=3\n\n' >"$work/net.cfg"
    printf "$@" >>"$work/net.cfg"
    expect_failure "onnx-$name" "$message" \
        python3 bench/peers/darknet_onnx.py "$work/net.cfg" $weights "$work/net.onnx"
    ! grep -q Traceback "$work/output" || fail "onnx-$name-line" "$(cat "$work/output")"
}
refuses layer 'net.cfg, line 6: [local]: this layer is not supported; these are: avg avgpool' '[local]\nfilters=2\n'
refuses activation 'activation=mish is not supported; these are: linear leaky relu logistic' \
    '[convolutional]\nactivation=mish\n'
refuses stride 'Darknet reads a 1x1 layer with a stride' '[convolutional]\nsize=1\nstride=2\n'
refuses groups 'groups=2 on 3 channels' '[convolutional]\ngroups=2\nfilters=2\n'
refuses xnor 'xnor=1 is not supported; only 0 is' '[convolutional]\nxnor=1\n'
refuses number 'size=3x is no number' '[maxpool]\nsize=3x\n'
refuses shortcut '3x8x8 cannot be added to 2x8x8' \
    '[dropout]\n[convolutional]\nfilters=2\n[shortcut]\nfrom=-2\n'
refuses shortcut-places '3x8x8 cannot be added to 3x3x3' \
    '[dropout]\n[maxpool]\nsize=6\npadding=0\nstride=1\n[shortcut]\nfrom=-2\n'
refuses route '7 is no earlier layer' '[route]\nlayers=7\n'
refuses detection 'it reads what a detection layer gives' '[yolo]\n[maxpool]\n'
refuses middle 'at the end of a network only' '[softmax]\n[maxpool]\n'
refuses empty 'net.cfg, line 6: neither [section] nor name=value: nothing' 'nothing\n'
refuses small 'its output is 3x-11x-11' '[maxpool]\nsize=20\npadding=0\n'
refuses short-weights "$weights: too short for this cfg" '[convolutional]\nfilters=9000\nsize=9\n'
expect_failure onnx-missing 'No such file' python3 bench/peers/darknet_onnx.py "$work/no.cfg" $weights "$work/net.onnx"
expect_failure onnx-usage 'usage: darknet_onnx.py' python3 bench/peers/darknet_onnx.py $cfg

# python NAME: the program on standard input must succeed
python() { check "$1" env PYTHONPATH=bench/peers python3 -; }

# Two filters of one tap: biases 1 and 2, scales 2 and 3, means 5 and 7, variances 4 and 9.
python onnx-folded <<END
import struct
import darknet_onnx as d
open('$work/two.weights', 'wb').write(struct.pack('<3iq10f', 0, 2, 0, 0, 1, 2, 2, 3, 5, 7, 4, 9, 10, 20))
values, biases = d.folded(d.Weights('$work/two.weights'), 2, 1, 1)
wanted = [10, 20, 1 - 5, 2 - 7]
assert all(abs(a - b) < 1e-4 for a, b in zip([*values, *biases], wanted)), (values, biases)
END
python onnx-folded-alexeyab <<END
import math
import darknet_onnx as d
values, biases = d.folded(d.Weights('$work/two.weights', True), 2, 1, 1)
wanted = [20 / math.sqrt(4.00001), 60 / math.sqrt(9.00001)]
assert all(abs(a - b) < 1e-7 * b for a, b in zip(values, wanted)), values
END
python onnx-bytes <<END
import darknet_onnx as d
assert d.varint(300) == b'\xac\x02' and d.varint(-1) == b'\xff' * 9 + b'\x01'
assert d.attribute('axis', 1).encode() == b'\x0a\x04axis' b'\x18\x01' b'\xa0\x01\x02'
END

# 3 of 4 channels, and every second place of 8.
printf '[net]\nwidth=8\nheight=8\nchannels=3\n\n[dropout]\n[convolutional]\nfilters=4\nsize=2\nstride=2\nactivation=linear\n%s' \
    "[shortcut]
from=-2
" >"$work/unequal.cfg"
python onnx-shortcut <<END
import darknet_onnx as d
import onnx_tflite as t
image, outputs = d.write('$work/unequal.cfg', '$weights', '$work/unequal.onnx')
m = t.Model('$work/unequal.onnx')
places, channels, total = m.nodes[1:]
assert (places.kind, places.inputs) == ('MaxPool', ['input']), vars(places)
assert places.attributes == {'kernel_shape': [1, 1], 'strides': [2, 2], 'pads': [0] * 4}, vars(places)
assert (channels.kind, channels.inputs[0]) == ('Concat', places.output), vars(channels)
dims, values = m.tensors[channels.inputs[1]]
assert dims == [1, 1, 4, 4] and not any(values), dims
assert (total.kind, total.inputs) == ('Add', ['convolutional_1', channels.output]), vars(total)
assert [(l.c, l.h, l.w) for l in outputs] == [(4, 4, 4)], outputs
END

# ---- the converter for LiteRT ----
python tflite-read <<END
import array
import darknet_onnx as d
import onnx_tflite as t
image, outputs = d.write('$cfg', '$weights', '$work/demo.onnx')
m = t.Model('$work/demo.onnx')
assert (m.input, m.dims) == ('input', [1, image.c, image.h, image.w]), (m.input, m.dims)
assert m.outputs == [l.name for l in outputs], m.outputs
conv, leaky = m.nodes[:2]
assert (conv.kind, conv.inputs, conv.output) == (
    'Conv', ['input', 'convolutional_0_weights', 'convolutional_0_biases'], 'convolutional_0'), vars(conv)
assert conv.attributes == {'kernel_shape': [3, 3], 'strides': [2, 2], 'pads': [1] * 4,
                           'group': 1}, conv.attributes
assert leaky.kind == 'LeakyRelu' and abs(leaky.attributes['alpha'] - .1) < 1e-7, vars(leaky)
dims, values = m.tensors['convolutional_0_biases']
graph = d.build('$cfg', '$weights')
biases = array.array('f', values)
assert dims == [len(biases)] and d.tensor('convolutional_0_biases', dims, biases).encode() in [
    x.encode() for x in graph.tensors], dims
END
python tflite-same <<END
import onnx_tflite as t
for side, size, stride, before, out, same in (
        (416, 3, 1, 1, 416, True), (416, 3, 2, 1, 208, False), (13, 2, 1, 0, 13, True),
        (13, 3, 2, 1, 7, True), (36, 3, 2, 1, 18, False), (8, 5, 1, 1, 6, False)):
    assert t.is_same(side, size, stride, before, out) == same, (side, size, stride, before)
END
python tflite-merged <<END
import onnx_tflite as t
from types import SimpleNamespace as N
def node(kind, output, *inputs): return N(kind=kind, output=output, inputs=list(inputs))
nodes = [node('Conv', 'a', 'x'), node('Relu', 'b', 'a'), node('MaxPool', 'c', 'b'),
         node('Relu', 'd', 'c'), node('Add', 'e', 'd', 'b'), node('Relu', 'f', 'd')]
got = [(n.kind, output, activation) for n, output, activation in t.merged(nodes)]
assert got == [('Conv', 'b', t.RELU), ('MaxPool', 'c', t.NONE), ('Relu', 'd', t.NONE),
               ('Add', 'e', t.NONE), ('Relu', 'f', t.NONE)], got
END
expect_failure tflite-usage 'usage: onnx_tflite.py' python3 bench/peers/onnx_tflite.py "$work/demo.onnx"

# ---- the options ----
peers() { python3 bench/peers/peers.py --bench "$bench" --out "$work/peers" "$@"; }
for threads in 0 1, 1,x 1025 '' ' 1'; do
    expect_failure "peers-threads-'$threads'" "'$threads': whole numbers from 1 to 1024 are needed" \
        peers --threads "$threads" data/kite.jpg $cfg=$weights
    check "peers-threads-'$threads'-line" [ "$(wc -l <"$work/output")" = 1 ]
done
expect_failure peers-rounds "'2,3': one whole number is needed" peers --rounds 2,3 data/kite.jpg $cfg=$weights
expect_failure peers-weights "'$cfg' is no CFG=WEIGHTS" peers data/kite.jpg $cfg
expect_failure peers-missing 'no.weights cannot be read' peers data/kite.jpg $cfg=no.weights
expect_failure peers-image 'no.jpg cannot be read' peers no.jpg $cfg=$weights

# ---- the verdict ----
python peers-figures <<END
import math
import peers as p
def entry(runtime, ms, status='ok'):
    return {'network': 'n', 'threads': 1, 'runtime': runtime, 'status': status, 'reason': 'a|b', 'ms': ms}
ours, slow, fast, wrong = entries = [entry(p.OURS, [2, 4, 3]), entry('slow', [8, 8, 6]),
                                     entry('fast', [4, 4, 4]), entry('wrong', [1, 1, 1], 'wrong')]
p.summarize(entries)
assert (ours['median_ms'], ours['low_ms'], ours['high_ms']) == (3, 2.5, 3.5), ours
assert (slow['ratio'], slow['ratio_low'], slow['ratio_high']) == (3 / 8, .375, .5), slow
assert [e['runtime'] for e in entries if e.get('fastest_peer')] == ['fast'], entries
assert p.table_line(wrong) == '| n | 1 | wrong | void: wrong outputs |  |  |  |  |', p.table_line(wrong)
assert not wrong['ms'] and 'median_ms' not in wrong
assert 'failed: a/b' in p.table_line(entry('x', [], 'failed'))
a = [100.0, 50.0, 1.0, 0.5]
assert p.difference(a, a, [2, 2]) == 0
assert p.difference([100.0, 50.0, 1.0, 0.75], a, [2, 2]) == .25      # of its own output
assert p.difference([100.0, 50.0, 1.0, math.nan], a, [2, 2]) == math.inf
assert p.difference(a[:3], a, [2, 2]) == math.inf
END

# ---- the precision ----
python peers-precision <<END
import sys, types
import runtime
asked = []
class Net:
    opt = types.SimpleNamespace(**dict.fromkeys(('use_fp16_packed', 'use_bf16_storage'), True))
    def load_param(self, path): return asked.append(dict(vars(self.opt))) or 0
    load_model = lambda self, path: 0
class Core:
    def compile_model(self, model, device, settings):
        asked.append(settings)
        return types.SimpleNamespace(create_infer_request=lambda: None, output=str)
sys.modules.update(openvino=types.SimpleNamespace(Core=Core), ncnn=types.SimpleNamespace(Net=Net),
                   numpy=types.SimpleNamespace())
for precision, hint, half in ('f32', 'f32', False), ('default', None, True):
    runtime.open_openvino('m.onnx', precision, 1, [])
    assert asked.pop().get('INFERENCE_PRECISION_HINT') == hint, precision
    Net.opt = types.SimpleNamespace(use_fp16_packed=True, use_bf16_storage=True)
    runtime.open_ncnn('m.onnx', precision, 1, [])
    assert asked.pop()['use_bf16_storage'] == half, precision
END
expect_failure peers-precision-value "'f16'" peers --precision f16 data/kite.jpg $cfg=$weights
# int8_needs NAME OPTION...
int8_needs()
{
    name=$1
    shift
    expect_failure "peers-int8-$name" 'peers: --precision int8 needs --darknet and --calibrate, and no other' \
        peers "$@" data/kite.jpg $cfg=$weights
}
int8_needs pictures --precision int8 --darknet "$OUT/darknet"
int8_needs darknet --precision int8 --calibrate data/dog.jpg
int8_needs itself --darknet "$OUT/darknet" --calibrate data/dog.jpg
expect_failure peers-int8-error 'peers: --error is for --precision int8' peers --error 0.4 data/kite.jpg $cfg=$weights
expect_failure peers-int8-picture 'no.jpg cannot be read' \
    peers --precision int8 --darknet "$OUT/darknet" --calibrate no.jpg data/kite.jpg $cfg=$weights

# ---- a whole run ----
# A numpy and an onnxruntime that give Darknet's own outputs, or as FAKE says. The others are missing.
mkdir "$work/modules"
cat >"$work/modules/numpy.py" <<END
class Floats:
    def __init__(self, data): self.data = data
    def reshape(self, *shape): return self
    def astype(self, kind): return self
    def tobytes(self): return self.data
def fromfile(path, dtype): return Floats(open(path, 'rb').read())
END
cat >"$work/modules/onnxruntime.py" <<END
import os, struct, numpy
__version__ = '0.0.1'
class GraphOptimizationLevel: ORT_DISABLE_ALL = 0
class SessionOptions:
    optimized_model_filepath = None
    def add_session_config_entry(self, key, value): pass
class InferenceSession:
    def __init__(self, model, options, providers):
        if options.optimized_model_filepath:
            open(options.optimized_model_filepath, 'w').close()
        open(os.environ['OPENED'], 'a').write(os.path.basename(model) + '\\n')
        self.outputs = open(os.path.join(os.path.dirname(model), 'reference.f32'), 'rb').read()
        if os.environ['FAKE'] == 'wrong':
            self.outputs = struct.pack('<f', 1e6) + self.outputs[4:]
        if os.environ['FAKE'] == 'near':
            first, = struct.unpack('<f', self.outputs[:4])
            self.outputs = struct.pack('<f', first + .01) + self.outputs[4:]
        if os.environ['FAKE'] == 'crash':
            raise ValueError('not today')
    def run(self, outputs, inputs): return [numpy.Floats(self.outputs)]
END
for name in openvino ncnn pnnx cv2 ai_edge_litert flatbuffers MNN; do
    echo "raise ImportError('no $name here')" >"$work/modules/$name.py"
done
# run_peers KIND [OPTION]: its output and status
run_peers()
{
    (export FAKE="$1" PYTHONPATH="$work/modules" OPENED="$work/opened"
        peers --rounds 2 --threads 1 $2 data/kite.jpg $cfg=$weights >"$work/$1" 2>"$work/$1.err"
        echo "status $?" >>"$work/$1")
}
run_peers right --cold
check peers-cold sh -c 'grep -qx "status 0" "$1" && grep -q "$2" "$1"' - "$work/right" \
    '^| kite-demo | 1 | darknet-gemm | [0-9.]* | [-0-9.]* |  |  | [-.0-9e]* | [1-9][0-9]* |$'
# The network is optimised once; the process that checks and those of two rounds read what was kept.
check peers-cold-keeps [ "$(tr '\n' ' ' <"$work/opened")" = \
    'model.onnx model.optimized.onnx model.optimized.onnx model.optimized.onnx ' ]
ours='^| kite-demo | 1 | darknet-gemm | [0-9.]* | [-0-9.]* |  |  | [-.0-9e]* |$'
run_peers right
check peers-right sh -c 'grep -qx "status 0" "$1" && grep -q "$2" "$1"' - "$work/right" "$ours"
check peers-right-fastest grep -Eq '^\| kite-demo \| 1 \| [0-9.]+ \| onnxruntime \| [0-9.]+ \| [0-9.]+ \| [-0-9.]+ \|$' "$work/right"
check peers-left-out grep -q '^- openvino is left out: ImportError: no openvino here$' "$work/right"
check peers-csv [ "$(cut -d, -f1-5 "$work/peers/peers.csv" | tail -n 1)" = kite-demo,1,onnxruntime,0.0.1,ok ]
"$OUT/tests/json_flat" <"$work/peers/peers.json" >"$work/flat"
check peers-json grep -qx "results.1.runtime	onnxruntime" "$work/flat"
check peers-md grep -q "$ours" "$work/peers/peers.md"
run_peers near '--precision default'
check peers-near sh -c 'grep -qx "status 0" "$1" && grep -q "$2" "$1"' - "$work/near" \
    ' at their default precision$'
run_peers near
check peers-near-f32 grep -q 'onnxruntime | void: wrong outputs |' "$work/near"
run_peers wrong
check peers-wrong sh -c 'grep -qx "status 1" "$1" && grep -q "onnxruntime | void: wrong outputs |" "$1"' - "$work/wrong"
run_peers crash
check peers-crash sh -c 'grep -qx "status 1" "$1" &&
    grep -q "onnxruntime | failed: ended with status 1: ValueError: not today |" "$1"' - "$work/crash"
check peers-crash-ours grep -q "$ours" "$work/crash"

# 8 bits, with a false OpenVINO and a false NNCF. This project's process is the only one with a trace.
cat >"$work/modules/openvino.py" <<END
import os, numpy
from types import SimpleNamespace as N
__version__ = '0.0.2-a'
class Core:
    def read_model(self, path): return path
    def compile_model(self, model, device, settings):
        assert open(model).read() == 'quantised', model
        whole = open(os.path.join(os.path.dirname(model), 'reference.f32'), 'rb').read()
        parts = iter([whole])
        get = lambda port: N(data=numpy.Floats(next(parts, b'')))
        return N(output=str, create_infer_request=lambda: N(infer=lambda *_, **__: None, get_tensor=get))
def save_model(model, path): open(path, 'w').write(model)
END
cat >"$work/modules/nncf.py" <<END
import os
__version__ = '0.0.3'
Dataset = list
def quantize(model, pictures, subset_size):
    assert model.endswith('/model.onnx') and os.environ['NNCF_CI'], model
    sizes = [len(p.data) for p in pictures]
    assert subset_size == 2 and len(set(sizes)) == 1 and pictures[0].data != pictures[1].data, sizes
    return 'quantised'
END
int8="--precision int8 --darknet $OUT/darknet --calibrate data/dog.jpg --calibrate data/person.jpg"
GEMM_TRACE=$work/trace.csv run_peers int8 "$int8"
check peers-int8 sh -c 'grep -qx "status 0" "$1" && grep -q "$2" "$1" && grep -q "^| kite-demo | 1 | openvino-int8 " "$1"' - \
    "$work/int8" "$ours"
check peers-int8-version grep -qx -- '- openvino-int8: 0.0.2 by NNCF 0.0.3' "$work/int8"
check peers-int8-ours grep -q '^packed_int8,.*,int8,' "$work/trace.csv"
GEMM_INT8=$work/none.int8 run_peers int8 "$int8"
check peers-int8-own-file sh -c 'grep -qx "status 1" "$1" && grep -q "none.int8: No such file" "$1.err"' - "$work/int8"
printf '#!/bin/sh\nexit 3\n' >"$work/no-darknet"
chmod +x "$work/no-darknet"
run_peers int8 "--precision int8 --darknet $work/no-darknet --calibrate data/dog.jpg"
check peers-int8-no-calibration sh -c 'grep -qx "status 1" "$1" && grep -q "failed: calibrate: Darknet ended after 0 of 1" "$1"' - \
    "$work/int8"
echo "raise ImportError('no nncf here')" >"$work/modules/nncf.py"
run_peers int8 "$int8"
check peers-int8-skip grep -qx 'SKIP no runtime to compare with: openvino-int8: ImportError: no nncf here' "$work/int8"

echo "raise ImportError('no onnxruntime here')" >"$work/modules/onnxruntime.py"
echo "raise ImportError('no openvino here')" >"$work/modules/openvino.py"
run_peers none
check peers-skip sh -c '[ "$(grep -c "" "$1")" = 2 ] && grep -qx "status 0" "$1" &&
    grep -q "^SKIP no runtime to compare with: onnxruntime: ImportError: no onnxruntime here; " "$1"' - "$work/none"

finish
