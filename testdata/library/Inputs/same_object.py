"""Whether libxlac and the command line make the same object and header: LIBRARY PROGRAM FOLDER MODEL... OPTION=VALUE..."""

import ctypes
import pathlib
import subprocess
import sys


def by_library(library, path, options):
    client, chosen, executable = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check = lambda status: status and sys.exit(f"{path}: status {status}")
    check(library.xlac_client_create(None, ctypes.c_int64(1), ctypes.byref(client)))
    check(library.xlac_options_create(client, ctypes.byref(chosen)))
    for option in options:
        name, value = option.split("=")
        check(library.xlac_options_set(chosen, name.encode(), value.encode() or None))
    check(library.xlac_compile_file(client, chosen, str(path).encode(), ctypes.byref(executable)))
    data, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.xlac_executable_object(executable, ctypes.byref(data), ctypes.byref(size))
    library.xlac_executable_header.restype = ctypes.c_char_p
    result = ctypes.string_at(data, size.value), library.xlac_executable_header(executable)
    library.xlac_executable_destroy(executable)
    library.xlac_options_destroy(chosen)
    library.xlac_client_destroy(client)
    return result


def by_program(program, path, folder, options):
    words = [f"--{option}" if option.split("=")[1] else f"--{option[:-1]}" for option in options]
    subprocess.run([program, *words, path, "-o", folder / "made.o"], check=True)
    return (folder / "made.o").read_bytes(), (folder / "made.h").read_bytes()


def check_age(library):
    """The program and libxlac are linked with one archive; where a later one made the program, differences are of age."""
    archive = library.with_name("libxlac_internal.a")
    if archive.exists() and archive.stat().st_mtime > library.stat().st_mtime:
        sys.exit(f"{library.name} is older than what it is made of: 'make build-tests' makes it anew")


def main():
    check_age(pathlib.Path(sys.argv[1]))
    library, program, folder = ctypes.CDLL(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    models = [word for word in sys.argv[4:] if "=" not in word]
    options = [word for word in sys.argv[4:] if "=" in word]
    for model in models:
        theirs, ours = by_library(library, model, options), by_program(program, model, folder, options)
        same = ["same" if a == b else f"different ({len(a)}, {len(b)} bytes)" for a, b in zip(theirs, ours)]
        print(f"{pathlib.Path(model).parent.name}: object {same[0]}, header {same[1]}")


main()
