"""Whether the tests that a page's tables name exist: PAGE ROOT.  'NAME.hlo' and 'NAME.test', maybe after folders, are text tests, anything else a function that a test's table runs."""

import pathlib
import re
import sys


def main():
    page, root = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    rows = [line for line in page.read_text().splitlines() if re.match(r"\| [^|-]+ \| .*`", line)]
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[2])}
    units = "".join(path.read_text() for folder in ("hlo/analysis", "hlo/machine", "passes", "base/packing", "codegen", "compiler")
                    for path in sorted((root / folder).rglob("*_test.c")))
    texts = ["/" + str(path.relative_to(root)) for path in (root / "testdata").rglob("*") if path.suffix in (".hlo", ".test")]
    missing = [name for name in sorted(named) if not any(path.endswith("/" + name) for path in texts) and
               not (re.search(rf"^static void {re.escape(name)}\(", units, re.M) and len(re.findall(rf"\b{re.escape(name)}\b", units)) > 1)]
    for name in missing:
        print(name)
    print(f"{len(named)} tests named, {len(missing)} missing")


main()
