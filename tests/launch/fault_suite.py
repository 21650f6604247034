"""Kills tasks of local clusters at random and says what it cost.

    python tests/launch/fault_suite.py --mode multi-worker --kills 30 --seed 1

Each round starts a cluster of `launch local`, kills -9 a few of its tasks, whichever and whenever
the seed says, and must see it come to the end by itself, with the right weights. Prints a line for
each kill and a summary: steps lost, and seconds until the run was beyond the step where it was hit.
"""

import argparse
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

STEPS = 500
SAVED_EVERY = 50
DEADLINE_SECS = 400

HOOK = """
import time
import gin
import tensorflow as tf

@gin.configurable
class SlowHook(tf.compat.v1.train.SessionRunHook):
    def after_run(self, run_context, run_values):
        time.sleep(0.04)
"""

CONFIG = f"""
import fault_hook
include 'linear_regression.gin'
TrainSpec.hooks = [@fault_hook.SlowHook()]
TrainSpec.max_steps = {STEPS}
RunConfig.save_checkpoints_steps = {SAVED_EVERY}
EvalSpec.exporters = [@FinalExporter()]
FinalExporter.name = 'final'
FinalExporter.serving_input_receiver_fn = @serving_input_receiver_fn()
serving_input_receiver_fn.schema = @Schema()
"""

MODES = {
    "parameter-servers": (["--worker=1", "--ps=1", "--evaluator"], ""),
    "multi-worker": (
        ["--worker=1", "--evaluator"],
        "RunConfig.train_distribute = @MultiWorkerMirroredStrategy()\n",
    ),
}


def step_of(model_dir: Path) -> int:
    """The newest step that a checkpoint has."""
    numbers = [int(p.name.split("-")[1].split(".")[0]) for p in model_dir.glob("*ckpt-*.index")]
    return max(numbers, default=0)


def one_round(mode: str, kills: int, rng: random.Random, folder: Path) -> list[dict]:
    """Runs one cluster, kills tasks of it, and checks what it comes to."""
    arguments, strategy = MODES[mode]
    (folder / "fault_hook.py").write_text(HOOK)
    (folder / "run.gin").write_text(CONFIG + strategy)
    model_dir = folder / "model"
    command = [sys.executable, "-m", "genever", "launch", "local", *arguments, "--max_restarts=40"]
    command += ["--", "train", "--gin_file", str(folder / "run.gin"), "--model_dir", str(model_dir)]
    done: list[dict] = []
    with open(folder / "output.txt", "w+") as output:
        launcher = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
        deadline = time.monotonic() + DEADLINE_SECS
        try:
            while launcher.poll() is None and time.monotonic() < deadline:
                if len(done) < kills and (not done or "back" in done[-1]):
                    # The first while all start or in the middle, the next when the run goes on.
                    time.sleep(rng.uniform(1.0, 20.0) if not done else rng.uniform(0.0, 8.0))
                    kill = kill_one(model_dir, rng)
                    if kill:
                        done.append(kill)
                        print(f"  {mode}: killed {kill['task']} at step {kill['step']}", flush=True)
                elif done and "back" not in done[-1] and step_of(model_dir) > done[-1]["step"]:
                    done[-1]["back"] = time.monotonic() - done[-1]["at"]
                time.sleep(0.2)
        finally:
            code = launcher.poll()
            if code is None:
                launcher.send_signal(signal.SIGINT)
                try:
                    launcher.wait(20)
                except subprocess.TimeoutExpired:
                    launcher.kill()
        output.seek(0)
        text = output.read()
    assert code == 0, f"the cluster ended with {code}:\n{text[-4000:]}"
    check(model_dir, text)
    resumed = [int(n) for n in re.findall(r"resuming from step (\d+)", text)]
    for kill in done:
        if kill["task"].startswith("chief") or mode == "multi-worker":
            after = [n for n in resumed if n <= kill["step"]]
            kill["lost"] = kill["step"] - max(after, default=kill["step"])
    return done


def kill_one(model_dir: Path, rng: random.Random) -> dict | None:
    """Kills a task that runs now; None where there is none."""
    try:
        tasks = json.loads((model_dir / "launch.json").read_text())["tasks"]
    except (OSError, ValueError):
        return None
    running = {
        name: int(found.group(1))
        for name, how in tasks.items()
        if (found := re.search(r"pid (\d+)", how))
    }
    if not running:
        return None
    name = rng.choice(sorted(running))
    try:
        os.kill(running[name], signal.SIGKILL)
    except ProcessLookupError:
        return None
    return {"task": name, "step": step_of(model_dir), "at": time.monotonic()}


def check(model_dir: Path, text: str) -> None:
    """The run has reached its end: weights, last evaluation, export."""
    import tensorflow as tf

    reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(str(model_dir)))
    assert reader.get_tensor("global_step") >= STEPS
    np.testing.assert_allclose(reader.get_tensor("linear/weights"), [1.0, 2.0], atol=1e-3)
    np.testing.assert_allclose(reader.get_tensor("linear/bias"), 3.0, atol=1e-3)
    assert f"max_steps {STEPS} was reached" in text
    records = [
        json.loads(line)
        for line in (model_dir / "ledger-evaluator-0.jsonl").read_text().split("\n")
        if line.startswith("{") and line.endswith("}")
    ]
    assert [r["step"] for r in records if r["event"] == "evaluated"][-1] >= STEPS
    assert len(list((model_dir / "export" / "final").iterdir())) >= 1


def summary(mode: str, seed: int, kills: list[dict]) -> str:
    back = [kill["back"] for kill in kills if "back" in kill]
    lost = [kill["lost"] for kill in kills if "lost" in kill]
    parts = [f"{mode}, seed {seed}: {len(kills)} kills, every run ended with the right weights"]
    if back:
        parts.append(
            f"seconds to go on: median {statistics.median(back):.0f}, most {max(back):.0f}"
        )
    if lost:
        parts.append(f"saved steps lost: {max(lost)} at most")
    return "; ".join(parts)


def main(mode: str, kills: int, seed: int, per_round: int = 3) -> list[dict]:
    rng = random.Random(seed)
    all_kills: list[dict] = []
    while len(all_kills) < kills:
        with tempfile.TemporaryDirectory(prefix="genever-faults-") as folder:
            wanted = min(per_round, kills - len(all_kills))
            all_kills += one_round(mode, wanted, rng, Path(folder))
    print(summary(mode, seed, all_kills), flush=True)
    return all_kills


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mode", choices=MODES, required=True)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    main(given.mode, given.kills, given.seed)
