# SPDX-License-Identifier: MIT
"""wheel.py VERSION PROCESSOR LIBRARY FOLDER: writes the wheel. The same input, the same bytes."""

import base64
import hashlib
import os
import re
import struct
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)

METADATA = """Metadata-Version: 2.1
Name: darknet-gemm
Version: {}
Summary: Darknet's networks on CPUs: a cfg, weights and a picture give boxes
License: MIT
Requires-Python: >=3.9
Provides-Extra: dask
Requires-Dist: distributed; extra == "dask"
Description-Content-Type: text/markdown

"""
WHEEL = """Wheel-Version: 1.0
Generator: darknet-gemm
Root-Is-Purelib: false
Tag: {}
"""


def read(*path):
    with open(os.path.join(ROOT, *path), "rb") as file:
        return file.read()


def oldest_glibc(library):
    """The oldest glibc that the library runs with: it has the newest symbol that is needed."""
    needed = subprocess.run([os.environ.get("READELF", "readelf"), "-W", "-V", library],
                            check=True, capture_output=True, text=True).stdout
    return max(tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", needed))


def letters():
    """What labels are drawn with, as src/python/calls.c reads it."""
    pngs = [read("data", "labels", f"{character}_{size}.png")
            for size in range(8) for character in range(32, 127)]
    return b"".join(struct.pack("<I", len(png)) + png for png in pngs)


def contents(version, tag, library):
    info = f"darknet_gemm-{version}.dist-info/"
    files = {"darknet_gemm/" + name: read("python", "darknet_gemm", name)
             for name in ("__init__.py", "__main__.py")}
    files["darknet_gemm/libdarknet.so"] = read(library)
    files["darknet_gemm/letters"] = letters()
    files["darknet_gemm/coco.names"] = read("data", "coco.names")
    files[info + "METADATA"] = METADATA.format(version).encode() + read("docs", "python.md")
    files[info + "WHEEL"] = WHEEL.format(tag).encode()
    files[info + "LICENSE"] = read("LICENSE")
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    return files


def main(version, processor, library, folder):
    major, minor = oldest_glibc(library)
    processor = {"arm": "armv7l"}.get(processor, processor)
    tag = f"py3-none-manylinux_{major}_{minor}_{processor}"
    path = os.path.join(folder, f"darknet_gemm-{version}-{tag}.whl")
    os.makedirs(folder, exist_ok=True)
    with zipfile.ZipFile(path + ".new", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, content in contents(version, tag, library).items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            wheel.writestr(entry, content)
    os.replace(path + ".new", path)
    print(f"{path}: {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
