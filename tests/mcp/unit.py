"""The unit that the tests of kscc mcp work on: the one of tests/cli/lib.sh, with its edits."""
import subprocess
import tempfile

import os


def make(src):
    """A fresh folder with unit.cu; returns its path and the text."""
    folder = tempfile.mkdtemp(prefix="kscc-mcp.")
    subprocess.run(["bash", "-c", f". '{src}/tests/cli/lib.sh'; unit"], cwd=folder, check=True)
    return folder, open(os.path.join(folder, "unit.cu")).read()


def environment():
    env = {k: v for k, v in os.environ.items() if not k.startswith(("KSCC_", "NVCC_")) and k not in ("CI", "PYTHONPATH")}
    env["KSCC_DEVICE"] = "emulated"
    return env


GOOD = ("y[i] = x[i] * 3.0f;", "y[i] = x[i] * 3.0f + 1.0f;")
ONE_LAUNCH = ("    shift<<<(n + 255) / 256, 256, 0, stream>>>(y, n);\n", "")
WRONG = ("y[i] = x[i] * 3.0f;", "y[i] = x[i] * 3.5f;")
HANG = ("y[i] = x[i] * 3.0f;", "{ volatile float v = x[i]; for (int k = 0; k < 100000000; k++) v = v + 0.0f; y[i] = v * 3.0f; }")
