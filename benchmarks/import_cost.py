"""What the bridge costs at import: CPU seconds with and without it, in turn, in fresh processes.

    python benchmarks/import_cost.py [--repeats 7]

Prints medians and ratios; the goal is less than 1.05 times `import tensorflow`, which imports Keras
3 from TensorFlow 2.16 on. Genever makes it Keras 2: the second ratio compares like with like.
"""

import argparse
import os
import statistics
import subprocess
import sys

GENEVER, PLAIN, KERAS2 = "import genever, tensorflow", "import tensorflow", "the same with Keras 2"
PROGRAMS = {
    "python alone": "pass",
    "import genever": "import genever",
    PLAIN: "import tensorflow",
    KERAS2: "import os; os.environ['TF_USE_LEGACY_KERAS'] = '1'; import tensorflow",
    GENEVER: "import genever, tensorflow",
}


def cpu_seconds(program: str) -> float:
    """Returns the user and system seconds of a fresh interpreter that runs `program`."""
    before = os.times()
    subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        check=True,
        stderr=subprocess.DEVNULL,
        timeout=300,
    )
    after = os.times()
    return sum(
        getattr(after, name) - getattr(before, name)
        for name in ("children_user", "children_system")
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    # The first round fills the caches of files and of bytecode.
    for program in PROGRAMS.values():
        cpu_seconds(program)
    seconds: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(repeats):
        for name, program in PROGRAMS.items():
            seconds[name].append(cpu_seconds(program))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    for name, median in medians.items():
        spread = f"{min(seconds[name]):.2f} to {max(seconds[name]):.2f}"
        print(f"{name:27} {median:6.2f} CPU seconds (median of {repeats}; {spread})")
    for other in (PLAIN, KERAS2):
        print(f"ratio to {other!r}: {medians[GENEVER] / medians[other]:.3f}")


if __name__ == "__main__":
    main()
