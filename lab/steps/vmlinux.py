#!/usr/bin/env python3
"""Takes the uncompressed kernel (ELF) out of a bzImage, for a direct PVH boot.

A PVH boot of the plain ELF saves the guest its decompression, which is most of
the boot time without KVM. The payload's place is in the bzImage header
(Documentation/x86/boot.rst); Debian compresses it with xz, newer kernels with
zstd, which the zstd program unpacks.

usage: vmlinux.py BZIMAGE OUTPUT
"""

import lzma
import struct
import subprocess
import sys


def payload_of(image):
    if image[0x202:0x206] != b"HdrS":
        sys.exit("lab: error: kernel image: not a bzImage")
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    return image[start:start + length]


def unpack(payload):
    if payload.startswith(b"\xfd7zXZ\0"):
        # The kernel appends the unpacked size, which is no part of the stream.
        return lzma.LZMADecompressor().decompress(payload)
    if payload.startswith(b"\x28\xb5\x2f\xfd"):
        return subprocess.run(["zstd", "-dcq"], input=payload[:-4], check=True,
                              stdout=subprocess.PIPE).stdout
    sys.exit(f"lab: error: kernel image: unknown compression {payload[:6].hex()}")


def main():
    source, target = sys.argv[1:3]
    with open(source, "rb") as file:
        kernel = unpack(payload_of(file.read()))
    if not kernel.startswith(b"\x7fELF"):
        sys.exit("lab: error: kernel image: no ELF kernel inside")
    with open(target, "wb") as file:
        file.write(kernel)


if __name__ == "__main__":
    main()
