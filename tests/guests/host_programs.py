"""Programs of this machine for guests that play hosts: below /opt/host, with the libraries that they have here, so that the
guest's distribution need not be this machine's."""
import pathlib
import re
import shutil
import subprocess

FOLDER = pathlib.Path("/opt/host")  # in the guest
LIBRARIES = FOLDER / "lib"
PROVIDERS = "usr/lib/x86_64-linux-gnu/libibverbs"  # which libibverbs opens by name


def folder_in(overlay):
    """Of an overlay; made if there is none yet."""
    folder = overlay / FOLDER.relative_to("/")
    (folder / "lib").mkdir(parents=True, exist_ok=True)
    return folder


def put_script(file, text):
    file.write_text(text)
    file.chmod(0o755)


def put_program(program, folder):
    """It and its libraries, and a script under its name that starts it."""
    said = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    for file in [program, *re.findall(r"(/\S+) \(0x", said)]:
        shutil.copy(file, folder / "lib")
    put_script(folder / program.name, f'#!/bin/sh\nexec {LIBRARIES}/ld-linux-x86-64.so.2 --library-path {LIBRARIES} '
                                      f'{LIBRARIES}/{program.name} "$@"\n')


def put_providers(overlay, *drivers):
    """This machine's, for this machine's libibverbs."""
    (overlay / PROVIDERS).mkdir(parents=True)
    for driver in drivers:
        for provider in (pathlib.Path("/") / PROVIDERS).glob(f"lib{driver}-*.so"):
            shutil.copy(provider, overlay / PROVIDERS)


def put_users(overlay, **users):
    """Beside root, each with a group of its own: name=number."""
    (overlay / "etc").mkdir(exist_ok=True)
    (overlay / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n" + "".join(
        f"{name}:x:{number}:{number}::/:/bin/false\n" for name, number in users.items()))
    (overlay / "etc" / "group").write_text("root:x:0:\n" + "".join(f"{name}:x:{number}:\n" for name, number in users.items()))
