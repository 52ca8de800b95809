# SPDX-License-Identifier: MIT
"""One runtime in a process of its own, for bench/peers/peers.py.

    python3 runtime.py NAME                                                         prints its version
    python3 runtime.py [--keep] NAME MODEL.onnx PRECISION THREADS INPUT C,H,W OUTPUT...     serves

NAME is onnxruntime, openvino, openvino-int8, ncnn, opencv, litert or mnn. INPUT has the floats of one image. A server
prints its version when the network is loaded. Then it answers each line of standard input by a
line, as `bench_detect --serve` does:
    raw FILE    "done"; FILE has the outputs of a pass, in the order of OUTPUT...
    turn N      milliseconds of a pass, the mean of N
    first       milliseconds from the model's file to the end of a pass, and the most KiB that the
                process had in memory. The module was imported before. Ask it before any other pass

All compute with THREADS threads; PRECISION is f32, or default: what the runtime takes unasked, which
may be 16 bits; or int8, which openvino-int8 takes: OpenVINO with NNCF's quantisation behind training,
whose pictures are picture-*.f32 beside the model. With --keep the first process writes what a runtime can
prepare to files beside the model, and the next ones read it: onnxruntime its optimised network with packed
weights, OpenVINO its cache of compiled networks, LiteRT the packed weights of XNNPACK. The others have no
such thing for a CPU. Anything else is left at its default. A runtime is a function that loads a model and
returns a function from the image to the outputs. It imports its module itself, because the others may
be missing.
"""

import glob
import os
import resource
import subprocess
import sys
import time


keep = False        # --keep


def optimize_for_onnxruntime(model, optimized):
    """Writes the network with packed weights, which lie in a file of their own."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = optimized
    for key, value in (('optimized_model_external_initializers_file_name', os.path.basename(optimized) + '.bin'),
                       ('optimized_model_external_initializers_min_size_in_bytes', '0'),
                       ('save_external_prepacked_constant_initializers', '1')):
        options.add_session_config_entry('session.' + key, value)
    onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])


def open_onnxruntime(model, precision, threads, outputs):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    if keep:
        optimized = beside(model, '.optimized.onnx')
        if not os.path.exists(optimized):
            optimize_for_onnxruntime(model, optimized)
        model = optimized
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])
    return lambda image: session.run(outputs, {'input': image})


def open_openvino(model, precision, threads, outputs):
    import openvino
    settings = {'PERFORMANCE_HINT': 'LATENCY', 'INFERENCE_NUM_THREADS': threads}
    if precision == 'f32':
        settings['INFERENCE_PRECISION_HINT'] = 'f32'
    if keep:
        settings['CACHE_DIR'] = beside(model, '.openvino')
    compiled = openvino.Core().compile_model(model, 'CPU', settings)
    request = compiled.create_infer_request()
    ports = [compiled.output(name) for name in outputs]

    def run(image):
        request.infer([image], share_inputs=True)
        return [request.get_tensor(port).data for port in ports]
    return run


def open_openvino_int8(model, precision, threads, outputs):
    return open_openvino(beside(model, '.int8.xml'), precision, threads, outputs)


def open_ncnn(model, precision, threads, outputs):
    import ncnn
    import numpy
    net = ncnn.Net()
    net.opt.num_threads = threads
    net.opt.use_vulkan_compute = False
    if precision == 'f32':
        for half in ('use_fp16_packed', 'use_fp16_storage', 'use_fp16_arithmetic',
                     'use_bf16_storage'):
            setattr(net.opt, half, False)
    parameters, values = beside(model, '.ncnn.param'), beside(model, '.ncnn.bin')
    if net.load_param(parameters) or net.load_model(values):
        sys.exit(f'ncnn cannot load {parameters} and {values}')

    def run(image):
        extractor = net.create_extractor()
        extractor.input('in0', ncnn.Mat(image[0]))
        mats = [extractor.extract(f'out{i}') for i in range(len(outputs))]
        if any(status for status, _ in mats):
            sys.exit('ncnn cannot compute an output')
        return [numpy.array(mat) for _, mat in mats]
    return run


def open_opencv(model, precision, threads, outputs):
    import cv2
    cv2.setNumThreads(threads)
    net = cv2.dnn.readNetFromONNX(model)

    def run(image):
        net.setInput(image)
        return net.forward(outputs)
    return run


def open_litert(model, precision, threads, outputs):
    """The image and the outputs have the channels last. LiteRT computes by XNNPACK."""
    if keep:
        return open_litert_kept(model, threads)
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(model_path=beside(model, '.tflite'), num_threads=threads)
    interpreter.allocate_tensors()
    place = interpreter.get_input_details()[0]['index']
    places = [details['index'] for details in interpreter.get_output_details()]

    def run(image):
        interpreter.set_tensor(place, image)
        interpreter.invoke()
        return [interpreter.get_tensor(p).transpose(0, 3, 1, 2) for p in places]
    return run


def open_litert_kept(model, threads):
    """The same by the newer interface of LiteRT, which alone keeps weights."""
    import numpy
    from ai_edge_litert.compiled_model import CompiledModel
    from ai_edge_litert.options import CpuOptions, Options
    cpu = CpuOptions(num_threads=threads, xnnpack_weight_cache_path=beside(model, '.xnnpack'))
    compiled = CompiledModel.from_file(beside(model, '.tflite'), options=Options(cpu_options=cpu))
    inputs, results = compiled.create_input_buffers(0), compiled.create_output_buffers(0)
    shapes = [result.get_tensor_details()['shape'] for result in results]

    def run(image):
        inputs[0].write(image.ravel())
        compiled.run_by_index(0, inputs, results)
        return [result.read(numpy.prod(shape), numpy.float32).reshape(shape).transpose(0, 3, 1, 2)
                for result, shape in zip(results, shapes)]
    return run


def open_mnn(model, precision, threads, outputs):
    import MNN
    import numpy
    net = MNN.Interpreter(beside(model, '.mnn'))
    session = net.createSession({'backend': 'CPU', 'numThread': threads,
                                 'precision': 'high' if precision == 'f32' else 'normal'})
    place = net.getSessionInput(session)
    places = [net.getSessionOutput(session, name) for name in outputs]

    def tensor(array):
        return MNN.Tensor(array.shape, MNN.Halide_Type_Float, array, MNN.Tensor_DimensionType_Caffe)

    results = [tensor(numpy.zeros(p.getShape(), dtype='float32')) for p in places]

    def run(image):
        place.copyFrom(tensor(image))
        net.runSession(session)
        for p, result in zip(places, results):
            p.copyToHostTensor(result)
        return [result.getNumpyData() for result in results]
    return run


RUNTIMES = {'onnxruntime': open_onnxruntime, 'openvino': open_openvino,
            'openvino-int8': open_openvino_int8, 'ncnn': open_ncnn, 'opencv': open_opencv,
            'litert': open_litert, 'mnn': open_mnn}
# Whose name is another one.
MODULES = {'opencv': 'cv2', 'litert': 'ai_edge_litert', 'mnn': 'MNN', 'openvino-int8': 'openvino'}


def pnnx_program():
    """pnnx's own program; its Python module is not imported, because that needs PyTorch."""
    from importlib.util import find_spec
    spec = find_spec('pnnx')
    if not spec:
        raise ImportError("No module named 'pnnx', which converts ONNX to ncnn's format")
    return os.path.join(spec.submodule_search_locations[0], 'pnnx')


def version_of(name):
    """Imports what the runtime needs, and returns its version."""
    import numpy    # noqa: F401: all of them need it
    if name == 'ncnn':
        pnnx_program()
    if name == 'litert':
        import flatbuffers      # noqa: F401: writes TFLite's format
        import ml_dtypes        # noqa: F401: of the interface that keeps weights
    module = __import__(MODULES.get(name, name))
    version = (module.version() if name == 'mnn' else module.__version__).split('-')[0]
    return f'{version} by NNCF {import_nncf().__version__}' if name == 'openvino-int8' else version


def import_nncf():
    os.environ['NNCF_CI'] = '1'     # it reports nothing of its use
    import nncf
    return nncf


def beside(model, end):
    """The path of a file beside MODEL.onnx."""
    return os.path.splitext(model)[0] + end


def convert_for_ncnn(model, shape):
    """Once for each model: writes MODEL.ncnn.param and .bin."""
    if os.path.exists(beside(model, '.ncnn.bin')):
        return
    text = ','.join(str(n) for n in (1, *shape))
    subprocess.run([pnnx_program(), model, f'inputshape=[{text}]', 'fp16=0'], check=True,
                   stdout=sys.stderr)


def convert_for_litert(model):
    """Once for each model: writes MODEL.tflite."""
    import onnx_tflite
    if not os.path.exists(beside(model, '.tflite')):
        onnx_tflite.convert(model, beside(model, '.tflite'))


def convert_for_mnn(model):
    """Once for each model: writes MODEL.mnn."""
    import _tools
    if not os.path.exists(beside(model, '.mnn')):
        _tools.mnnconvert(['mnnconvert', '-f', 'ONNX', '--modelFile', model, '--MNNModel',
                           beside(model, '.mnn'), '--bizCode', 'bench'])


def quantize(model, shape):
    """Once for each model: writes MODEL.int8.xml and .bin."""
    import numpy
    import openvino
    if os.path.exists(beside(model, '.int8.xml')):
        return
    pictures = [numpy.fromfile(path, dtype='float32').reshape(1, *shape) for path in
                sorted(glob.glob(os.path.join(os.path.dirname(model), 'picture-*.f32')))]
    nncf = import_nncf()
    whole = openvino.Core().read_model(model)
    quantized = nncf.quantize(whole, nncf.Dataset(pictures), subset_size=len(pictures))
    openvino.save_model(quantized, beside(model, '.int8.xml'))


def turn(run, image, passes):
    """Milliseconds of a pass, once the others' threads are asleep and this one's are awake."""
    time.sleep(.005)
    run(image)
    start = time.perf_counter()
    for _ in range(passes):
        run(image)
    return (time.perf_counter() - start) * 1000 / passes


def write_raw(path, values):
    with open(path, 'wb') as file:
        for v in values:
            file.write(v.astype('float32').tobytes())


def serve(name, model, precision, threads, input_path, shape, outputs, answers):
    import numpy
    version = version_of(name)
    if name == 'ncnn':
        convert_for_ncnn(model, shape)
    if name == 'mnn':
        convert_for_mnn(model)
    if name == 'openvino-int8':
        quantize(model, shape)
    image = numpy.fromfile(input_path, dtype='float32').reshape(1, *shape)
    if name == 'litert':
        convert_for_litert(model)
        image = numpy.ascontiguousarray(image.transpose(0, 2, 3, 1))
    start = time.perf_counter()
    run = RUNTIMES[name](model, precision, threads, outputs)
    loaded = time.perf_counter() - start
    print(version, file=answers, flush=True)
    for line in sys.stdin:
        command, _, argument = line.partition(' ')
        if command.strip() == 'first':
            start = time.perf_counter()
            run(image)
            ms = (loaded + time.perf_counter() - start) * 1000
            print(ms, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=answers, flush=True)
        elif command == 'raw':
            write_raw(argument.strip(), run(image))
            print('done', file=answers, flush=True)
        else:
            print(turn(run, image, int(argument)), file=answers, flush=True)


def main():
    # What a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)
    global keep
    keep = sys.argv[1:2] == ['--keep']
    name, *rest = sys.argv[1 + keep:]
    try:
        if not rest:
            print(version_of(name), file=answers, flush=True)
            return
        model, precision, threads, input_path, shape, *outputs = rest
        serve(name, model, precision, int(threads), input_path,
              [int(n) for n in shape.split(',')], outputs, answers)
    except Exception as error:          # any error of any library: its name and text are the reason
        sys.exit(f'{type(error).__name__}: {" ".join(str(error).split())}')


if __name__ == '__main__':
    main()
