# SPDX-License-Identifier: MIT
"""Forward passes of this project and of other runtimes, in turns.

    python3 peers.py --bench BENCH_DETECT --out FOLDER [--threads N,N...] [--rounds N] [--cold]
                     [--precision f32|default] IMAGE CFG=WEIGHTS...
    python3 peers.py ... --precision int8 --darknet DARKNET --calibrate PICTURE... [--error E] IMAGE CFG=WEIGHTS...

Each contestant is a process: `bench_detect --serve` for this project, and runtime.py for each other
runtime, all with the same number of threads. In every round each has its turn, and the next round
starts with another one. Who waits is stopped (SIGSTOP), so that no thread of it spins.

--cold: a turn is a new process. Its time goes from reading the network to the end of the first
pass; the image is prepared, and a runtime's module is imported. Runtimes read what they kept in files
(--keep of runtime.py). Peak MB is all that the process has in memory, Python and the module too.

--precision default: each runtime takes its own precision, which may be 16 bits. This project takes
what GEMM_IMPL says.

--precision int8: OpenVINO takes the network as NNCF quantises it, and this project packed_int8, unless
GEMM_IMPL says another row. Both are calibrated on the same pictures. Without GEMM_INT8 this project's
file is made by bench/calibrate/calibrate.sh, for the error of outputs that --error allows, 0.05 unless
given. Other runtimes are left out.

Before, the raw outputs of each contestant are compared with those of Darknet's own loops (row stock
with im2col). A difference above the bound voids the time. The difference of an output is its largest
|a - b| over its largest |b|; that of a network is the largest of its outputs.

Standard output gets Markdown. FOLDER gets the same as peers.md, and peers.csv and peers.json. The
status is 1 when a time is void or a contestant failed.
"""

import argparse
import array
import csv
import ctypes
import datetime
import json
import math
import os
import select
import shutil
import signal
import subprocess
import sys

import darknet_onnx

OURS = 'darknet-gemm'
PEERS = ('onnxruntime', 'openvino', 'ncnn', 'opencv', 'litert', 'mnn')
PEERS_INT8 = ('openvino-int8',)
# Single precision stays below, with Winograd's tiles of 6x6 too. 16 bits do not: bf16 has 8 bits of a value, and
# errors of a network's layers add up. With 8 bits the bound finds what is wrong as a whole only.
BOUNDS = {'f32': 3e-4, 'default': .1, 'int8': .6}
PRECISIONS = {'f32': '', 'default': ', other runtimes at their default precision',
              'int8': ', both in 8 bits'}
TURN_MS = 100           # a turn lasts about this long
PATIENCE_S = 600        # without an answer
HERE = os.path.dirname(os.path.abspath(__file__))
RUNTIME = os.path.join(HERE, 'runtime.py')
CALIBRATE = os.path.join(os.path.dirname(HERE), 'calibrate', 'calibrate.sh')
COLUMNS = ('network', 'threads', 'runtime', 'version', 'status', 'reason', 'difference', 'passes',
           'median_ms', 'low_ms', 'high_ms', 'ratio', 'ratio_low', 'ratio_high', 'fastest_peer',
           'peak_mb')


class Failed(Exception):
    """A contestant cannot go on; the text says why."""


# ---- processes ----

def end_with_parent():
    """In a child: it is killed when this program ends, also while it is stopped."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)          # PR_SET_PDEATHSIG


def last_line(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        lines = [line.strip() for line in file if line.strip()]
    return lines[-1] if lines else 'no message'


class Process:
    """A program that answers lines by lines. Its standard error goes to a log."""

    def __init__(self, command, log, environment=None):
        self.log = log
        with open(log, 'wb') as errors:
            self.child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, bufsize=0,
                env=environment, preexec_fn=end_with_parent)

    def answer(self):
        ready, _, _ = select.select([self.child.stdout], [], [], PATIENCE_S)
        if not ready:
            raise Failed(f'no answer for {PATIENCE_S} s')
        line = self.child.stdout.readline().decode()
        if not line.endswith('\n'):
            status = self.child.wait()
            how = f'signal {-status}' if status < 0 else f'status {status}'
            raise Failed(f'ended with {how}: {last_line(self.log)}')
        return line.strip()

    def ask(self, command):
        try:
            self.child.stdin.write(command.encode() + b'\n')
        except BrokenPipeError:
            pass                        # answer() tells why it ended
        return self.answer()

    def pause(self):
        self.child.send_signal(signal.SIGSTOP)

    def resume(self):
        self.child.send_signal(signal.SIGCONT)

    def end(self):
        self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()


def without_settings():
    return {k: v for k, v in os.environ.items() if not k.startswith('GEMM_')}


# ---- outputs ----

def read_floats(path):
    values = array.array('f')
    with open(path, 'rb') as file:
        values.frombytes(file.read())
    return values


def difference(actual, expected, sizes):
    """The largest of the outputs, each relative to its largest value; infinite for NaN."""
    if len(actual) != len(expected) or len(expected) != sum(sizes):
        return math.inf
    worst, start = 0.0, 0
    for size in sizes:
        a, b = actual[start:start + size], expected[start:start + size]
        start += size
        if not all(map(math.isfinite, a)):
            return math.inf
        largest = max(map(abs, b))
        d = max(abs(x - y) for x, y in zip(a, b))
        worst = max(worst, d / largest if largest else (math.inf if d else 0.0))
    return worst


# ---- figures ----

def quantile(values, q):
    """Linear between neighbours, as stats_quantile of bench/common/stats.h."""
    v = sorted(values)
    at = q * (len(v) - 1)
    low = math.floor(at)
    high = min(low + 1, len(v) - 1)
    return v[low] + (at - low) * (v[high] - v[low])


def summarize(entries):
    """Fills in the figures of the contestants of one network and number of threads.

    An entry is a dictionary with runtime, status and ms, a list with a time for each round. Only
    entries whose status is ok get figures; the times of the others are dropped.
    """
    for e in entries:
        if e['status'] != 'ok':
            e['ms'] = []
    right = [e for e in entries if e['status'] == 'ok']
    for e in right:
        e['median_ms'] = quantile(e['ms'], .5)
        e['low_ms'], e['high_ms'] = quantile(e['ms'], .25), quantile(e['ms'], .75)
    ours = next((e for e in right if e['runtime'] == OURS), None)
    peers = [e for e in right if e['runtime'] != OURS]
    for e in peers if ours else ():
        ratios = [a / b for a, b in zip(ours['ms'], e['ms'])]
        e['ratio'] = ours['median_ms'] / e['median_ms']
        e['ratio_low'], e['ratio_high'] = quantile(ratios, .25), quantile(ratios, .75)
    if peers:
        min(peers, key=lambda e: e['median_ms'])['fastest_peer'] = True


def table_line(e):
    name = e['runtime'] + (' (fastest peer)' if e.get('fastest_peer') else '')
    cells = [e['network'], str(e['threads']), name]
    if e['status'] == 'ok':
        cells += [f'{e["median_ms"]:.2f}', f'{e["low_ms"]:.2f}-{e["high_ms"]:.2f}']
    elif e['status'] == 'wrong':
        cells += ['void: wrong outputs', '']
    else:
        cells += ['failed: ' + e['reason'].replace('|', '/'), '']
    if 'ratio' in e:
        cells += [f'{e["ratio"]:.2f}', f'{e["ratio_low"]:.2f}-{e["ratio_high"]:.2f}']
    else:
        cells += ['', '']
    cells.append(f'{e["difference"]:.1e}' if 'difference' in e else '')
    if 'peak_mb' in e:
        cells.append(f'{e["peak_mb"]:.0f}')
    return '| ' + ' | '.join(cells) + ' |'


# ---- measuring ----

class Network:
    """A network as ONNX, its input, and the outputs that Darknet's own loops compute."""

    def __init__(self, options, number, argument):
        self.cfg, self.weights = argument.split('=', 1)
        self.name = os.path.splitext(os.path.basename(self.cfg))[0]
        self.folder = os.path.join(options.out, f'{number}-{self.name}')
        self.model = self.path('model.onnx')
        self.input = self.path('input.f32')
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.expected = self.reference(options)
        self.image, self.outputs = darknet_onnx.write(self.cfg, self.weights, self.model, self.is_alexeyab())
        self.sizes = [l.c * l.h * l.w for l in self.outputs]
        self.settings = self.calibrate(options) if options.precision == 'int8' else None

    def path(self, name):
        return os.path.join(self.folder, name)

    def serve(self, options, threads, image=None):
        return [options.bench, '--serve', '--threads', str(threads), image or options.image,
                f'{self.cfg}={self.weights}']

    def ask_once(self, log, command, settings, *questions):
        process = Process(command, self.path(log), settings)
        try:
            for question in questions:
                process.ask(question)
        finally:
            process.end()

    def reference(self, options):
        settings = {**without_settings(), 'GEMM_IMPL': 'stock', 'GEMM_CONV': 'im2col'}
        self.ask_once('reference.log', self.serve(options, 1), settings, 'input ' + self.input,
                      'raw ' + self.path('reference.f32'))
        return read_floats(self.path('reference.f32'))

    def is_alexeyab(self):
        """Whether Darknet said that the network has AlexeyAB's rules, because of its cfg."""
        with open(self.path('reference.log'), encoding='utf-8', errors='replace') as file:
            return "of AlexeyAB's Darknet, so its rules hold" in file.read()

    def calibrate(self, options):
        """Writes what runtime.py quantises with; returns the environment of this project."""
        for i, picture in enumerate(options.calibrate):
            self.ask_once('picture.log', self.serve(options, 1, picture), without_settings(),
                          'input ' + self.path(f'picture-{i:03}.f32'))
        settings = {'GEMM_IMPL': 'packed_int8', **os.environ}
        if 'GEMM_INT8' not in settings:
            weights = self.path('calibrated.weights')
            os.symlink(os.path.abspath(self.weights), weights)
            made = subprocess.run([CALIBRATE, '--error', options.error, options.darknet, self.cfg,
                                   weights, *options.calibrate], capture_output=True, text=True,
                                  env=without_settings())
            if made.returncode:
                raise Failed(' '.join((made.stderr or made.stdout).split()))
            settings['GEMM_INT8'] = self.path('calibrated.int8')
        return settings

    def start(self, options, name, threads):
        log = self.path(f'{name}-{threads}.log')
        if name == OURS:
            return Process(self.serve(options, threads), log, self.settings)
        shape = f'{self.image.c},{self.image.h},{self.image.w}'
        process = Process([sys.executable, RUNTIME, *['--keep'] * options.cold, name, self.model,
                           options.precision, str(threads), self.input, shape,
                           *(l.name for l in self.outputs)], log)
        try:
            process.answer()            # its version: the network is loaded
        except Failed:
            process.end()
            raise
        return process

    def check(self, process, entry, bound):
        path = self.path(f'{entry["runtime"]}-{entry["threads"]}.f32')
        process.ask('raw ' + path)
        entry['difference'] = difference(read_floats(path), self.expected, self.sizes)
        if not entry['difference'] <= bound:
            entry['status'] = 'wrong'
            entry['reason'] = f'outputs differ by {entry["difference"]:.3g}, above {bound:g}'


def attempt(entry, work):
    """Calls work(); a failure goes to the entry. Returns work's value, or None."""
    try:
        return work()
    except Failed as failure:
        entry['status'], entry['reason'] = 'failed', str(failure)
        return None


def take_turn(process, passes):
    process.resume()
    ms = float(process.ask(f'turn {passes}'))
    process.pause()
    return ms


def run_cold(options, network, entry, threads):
    """One process from its start to its end: milliseconds, and its peak in MB."""
    process = network.start(options, entry['runtime'], threads)
    try:
        ms, kib = process.ask('first').split()
    finally:
        process.end()
    return float(ms), int(kib) / 1e3 * 1.024


def measure_cold(options, network, threads):
    """The same as measure(), with a new process in each turn."""
    entries = []
    for name, version in options.versions.items():
        e = {'network': network.name, 'threads': threads, 'runtime': name, 'version': version,
             'status': 'ok', 'reason': '', 'ms': [], 'passes': 1}
        entries.append(e)
        process = attempt(e, lambda: network.start(options, name, threads))
        if process:
            attempt(e, lambda: network.check(process, e, options.bound))
            process.end()
    peaks = {e['runtime']: [] for e in entries}
    for r in range(options.rounds):
        first = r % len(entries)
        for e in entries[first:] + entries[:first]:
            turn = attempt(e, lambda: run_cold(options, network, e, threads)) \
                if e['status'] == 'ok' else None
            if turn:
                e['ms'].append(turn[0])
                peaks[e['runtime']].append(turn[1])
    for e in entries:
        if e['status'] == 'ok':
            e['peak_mb'] = quantile(peaks[e['runtime']], .5)
    summarize(entries)
    return entries


def measure(options, network, threads):
    """The entries of all contestants with so many threads."""
    entries, processes = [], {}
    try:
        for name, version in options.versions.items():
            e = {'network': network.name, 'threads': threads, 'runtime': name, 'version': version,
                 'status': 'ok', 'reason': '', 'ms': []}
            entries.append(e)
            process = attempt(e, lambda: network.start(options, name, threads))
            if process:
                processes[name] = process
                attempt(e, lambda: network.check(process, e, options.bound))
                process.pause()
        for e in entries:
            if e['status'] == 'ok':
                once = attempt(e, lambda: take_turn(processes[e['runtime']], 1))
                e['passes'] = max(1, round(TURN_MS / once)) if once else None
        for r in range(options.rounds):
            first = r % len(entries)
            for e in entries[first:] + entries[:first]:
                if e['status'] == 'ok':
                    e['ms'].append(
                        attempt(e, lambda: take_turn(processes[e['runtime']], e['passes'])))
    finally:
        for process in processes.values():
            process.end()
    summarize(entries)
    return entries


# ---- the program ----

def probe(name):
    """The version of a runtime, or Failed with the reason why it cannot be used."""
    result = subprocess.run([sys.executable, RUNTIME, name], capture_output=True, text=True)
    if result.returncode:
        lines = result.stderr.strip().splitlines()
        raise Failed(lines[-1] if lines else f'ended with status {result.returncode}')
    return result.stdout.strip()


def cores():
    return len(os.sched_getaffinity(0))


def powers_of_two():
    """1, 2, 4 ... and the number of cores."""
    return [2 ** i for i in range(cores().bit_length()) if 2 ** i < cores()] + [cores()]


def whole_numbers(text):
    """Whole numbers from 1 to 1024 with commas."""
    parts = text.split(',')
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= 1024 for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}': whole numbers from 1 to 1024 are needed")
    return [int(part) for part in parts]


def whole_number(text):
    numbers = whole_numbers(text)
    if len(numbers) > 1:
        raise argparse.ArgumentTypeError(f"'{text}': one whole number is needed")
    return numbers[0]


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong."""

    def error(self, message):
        self.exit(2, f'{self.prog}: {message}\n')


def read_options():
    parser = Parser(prog='peers', allow_abbrev=False)
    parser.add_argument('--bench', required=True, help='the program bench_detect')
    parser.add_argument('--out', required=True, help='the folder of the results')
    parser.add_argument('--threads', type=whole_numbers, default=powers_of_two())
    parser.add_argument('--rounds', type=whole_number, default=9)
    parser.add_argument('--cold', action='store_true', help='each turn is a new process')
    parser.add_argument('--precision', choices=BOUNDS, default='f32',
                        help='of the other runtimes; default: what each takes unasked')
    parser.add_argument('--darknet', help='int8: the program that calibrates')
    parser.add_argument('--calibrate', action='append', default=[], metavar='PICTURE',
                        help='int8: a picture to calibrate on')
    parser.add_argument('--error', metavar='E',
                        help='int8: the error of our outputs that calibration allows; default: 0.05')
    parser.add_argument('image')
    parser.add_argument('networks', nargs='+', metavar='CFG=WEIGHTS')
    options = parser.parse_args()
    options.bound = BOUNDS[options.precision]
    for network in options.networks:
        if not all(network.partition('=')):
            parser.error(f"'{network}' is no CFG=WEIGHTS: runtimes are compared on real weights")
        for path in network.split('=', 1):
            if not os.access(path, os.R_OK):
                parser.error(f'{path} cannot be read')
    int8 = options.precision == 'int8'
    if int8 != bool(options.calibrate) or int8 != bool(options.darknet):
        parser.error('--precision int8 needs --darknet and --calibrate, and no other precision does')
    if options.error and not int8:
        parser.error('--error is for --precision int8')
    options.error = options.error or '0.05'
    paths = [options.bench, options.image, *options.calibrate]
    for path in paths + [options.darknet] * int8:
        if not os.access(path, os.R_OK):
            parser.error(f'{path} cannot be read')
    return options


def ask_machine(options):
    """What bench_detect says of the machine and of the build."""
    command = [options.bench, '--serve', '--threads', '1', options.image,
               options.networks[0].split('=', 1)[0]]
    process = Process(command, os.path.join(options.out, 'machine.log'))
    try:
        return json.loads(process.ask('machine'))
    finally:
        process.end()


def find_runtimes(options, head):
    options.versions = {OURS: head['commit']}
    head['left_out'] = {}
    for name in PEERS_INT8 if options.precision == 'int8' else PEERS:
        try:
            options.versions[name] = probe(name)
        except Failed as failure:
            head['left_out'][name] = str(failure)
    head['versions'] = options.versions


def say(options, text):
    """Prints Markdown, and keeps it in a file."""
    print(text, flush=True)
    with open(os.path.join(options.out, 'peers.md'), 'a') as file:
        file.write(text + '\n')


def say_head(options, head):
    m = head['machine']
    settings = ' '.join(f'{k}={v}' for k, v in head['settings'].items())
    ours = f', ours calibrated for an error of {options.error}' * (options.precision == 'int8')
    lines = [f'- machine: {m["cpu"]}, {m["cores"]} cores, {m["caches"]}, {m["memory_gib"]:.1f} GiB',
             f'- system: {m["os"]}, load {m["load"]:.2f}, Python {head["python"]}',
             f'- run: {head["time"]}, rounds {options.rounds}, '
             + ('a new process a turn, ms to the end of its first pass' if options.cold
                else f'{TURN_MS} ms a turn')
             + PRECISIONS[options.precision] + ours,
             f'- settings: {settings or "none"}']
    lines += [f'- {name}: {version}' for name, version in head['versions'].items()]
    lines += [f'- {name} is left out: {reason}' for name, reason in head['left_out'].items()]
    lines += ["- difference: from the raw outputs of Darknet's own loops; "
              f'above {options.bound:g} the time is void',
              '', f'| network | threads | runtime | ms | middle half | {OURS} / runtime '
              '| middle half | difference |' + (' peak MB |' if options.cold else ''),
              '|---|---|---|---|---|---|---|---|' + ('---|' if options.cold else '')]
    say(options, '\n'.join(lines))


def say_summary(options, results):
    lines = ['', f'| network | threads | {OURS}, ms | fastest peer | its ms '
             f'| {OURS} / fastest peer | middle half |', '|---|---|---|---|---|---|---|']
    ours = {(e['network'], e['threads']): e for e in results if e['runtime'] == OURS}
    for e in results:
        if e.get('fastest_peer') and 'ratio' in e:
            lines.append(f'| {e["network"]} | {e["threads"]} '
                         f'| {ours[e["network"], e["threads"]]["median_ms"]:.2f} | {e["runtime"]} '
                         f'| {e["median_ms"]:.2f} | {e["ratio"]:.2f} '
                         f'| {e["ratio_low"]:.2f}-{e["ratio_high"]:.2f} |')
    say(options, '\n'.join(lines))


def write_files(options, head, results):
    with open(os.path.join(options.out, 'peers.csv'), 'w', newline='') as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction='ignore', lineterminator='\n')
        writer.writeheader()
        writer.writerows(results)
    plain = [{k: None if v == math.inf else v for k, v in e.items()} for e in results]
    with open(os.path.join(options.out, 'peers.json'), 'w') as file:
        json.dump({**head, 'results': plain}, file, indent=1)
        file.write('\n')


def main():
    options = read_options()
    os.makedirs(options.out, exist_ok=True)
    try:
        head = ask_machine(options)
    except Failed as failure:
        sys.exit(f'peers: {options.bench}: {failure}')
    head.update(time=datetime.datetime.now().astimezone().isoformat(timespec='seconds'),
                python=sys.version.split()[0], rounds=options.rounds, turn_ms=TURN_MS,
                precision=options.precision, bound=options.bound,
                settings={k: v for k, v in sorted(os.environ.items()) if k.startswith('GEMM_')})
    find_runtimes(options, head)
    if len(options.versions) == 1:
        reasons = '; '.join(f'{name}: {why}' for name, why in head['left_out'].items())
        print(f'SKIP no runtime to compare with: {reasons}')
        return 0
    open(os.path.join(options.out, 'peers.md'), 'w').close()
    say_head(options, head)
    results, refused = [], 0
    for number, argument in enumerate(options.networks, 1):
        try:
            network = Network(options, number, argument)
        except (Failed, OSError, darknet_onnx.Refused) as error:
            say(options, f'| {argument.split("=")[0]} | | failed: {error} | | | | | |')
            refused += 1
            continue
        for threads in options.threads:
            entries = (measure_cold if options.cold else measure)(options, network, threads)
            results += entries
            say(options, '\n'.join(map(table_line, entries)))
    say_summary(options, results)
    write_files(options, head, results)
    print(f'\nAlso in {options.out}: peers.md, peers.csv, peers.json', file=sys.stderr)
    return int(refused or any(e['status'] != 'ok' for e in results))


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
