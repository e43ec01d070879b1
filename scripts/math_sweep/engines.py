"""Results of a module by xlac and by XLA."""

import shlex
import subprocess

from matrix.npy import npz_values


def own_results(xlac, folder, text, *words):
    (folder / "module.hlo").write_text(text)
    subprocess.run([xlac, "run", "-q", "--no-cache", *words, f"--output={folder / 'own.npz'}", folder / "module.hlo"], check=True)
    return npz_values(folder / "own.npz")


def their_results(reference, folder, text, *words):
    """The file of results of the command |reference|, or None when it fails: XLA does not run everything."""
    (folder / "module.hlo").write_text(text)
    path = folder / "their.npz"
    path.unlink(missing_ok=True)
    done = subprocess.run([*shlex.split(reference), "run", folder / "module.hlo", *words, "--out", path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
    return path if done.returncode == 0 else None
