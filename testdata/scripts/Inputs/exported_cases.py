"""exported_cases.py ROOT: a line for each case with a program.py, which says what is wrong with it."""

import ast
import json
import pathlib
import sys
import zipfile

root = pathlib.Path(sys.argv[1])


def called_export(program):
    return next(node for node in ast.walk(program) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "export")


def leaf_count(case, archive):
    return len(zipfile.ZipFile(case / archive).namelist())


for path in sorted(root.glob("testdata/cases/*/program.py")):
    case, program = path.parent, ast.parse(path.read_text())
    script = next(node.module for node in ast.walk(program) if isinstance(node, ast.ImportFrom) and node.module.startswith("export_"))
    meta = json.loads((case / "meta.json").read_text())
    text = (case / "module.hlo").read_text()
    wrong = [what for what, found in {
        "its folder": called_export(program).args[0].value != f"testdata/cases/{case.name}",
        "its script": not (root / "scripts" / f"{script}.py").is_file(),
        "the origin": not meta["origin"].startswith(script.removeprefix("export_").replace("pytorch", "torch") + " "),
        "inputs": leaf_count(case, "inputs.npz") != len(meta["params"]),
        "results": leaf_count(case, "expected.npz") != len(meta["results"]),
        "constants": "{...}" in text,
        "paths": "source_file" in text or "FileNames" in text,
    }.items() if found]
    print(f"{case.name}: {script}" + (f", wrong: {', '.join(wrong)}" if wrong else ""))
