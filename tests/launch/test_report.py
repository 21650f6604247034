"""What a person sees: a bar and tables on a terminal, plain lines elsewhere."""

import io

import numpy as np
from genever.launch.report import TerminalReport
from rich.console import Console

METRICS = {"auc": np.float32(0.75), "loss": 0.5, "global_step": 20, "count": 3}


def test_lines_without_a_terminal():
    text = io.StringIO()
    report = TerminalReport(Console(file=text, width=200))
    report.start(0, 100)
    report.progress(10, 0.25, 32)
    report.evaluated("held_out", 20, METRICS, "8 examples, 0.1 s")
    report.stop()
    progress, evaluation = text.getvalue().splitlines()
    assert progress.startswith("step 10/100  ") and "loss 0.25  " in progress
    assert "examples/s" in progress and progress.endswith("left")
    assert evaluation == (
        "evaluation 'held_out' at step 20 (8 examples, 0.1 s): loss = 0.5, auc = 0.75, count = 3"
    )


def test_bar_and_table_on_a_terminal():
    text = io.StringIO()
    report = TerminalReport(Console(file=text, width=100, force_terminal=True, color_system=None))
    report.start(0, 100)
    report.progress(10, 0.25, None)
    report.evaluated(None, 20, METRICS, "0.1 s")
    report.stop()
    shown = text.getvalue()
    assert "step 10/100" in shown and "steps/s" in shown
    assert "evaluation at step 20 (0.1 s)" in shown
    rows = [line.split("│")[1:3] for line in shown.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["loss", "0.5"],
        ["auc", "0.75"],
        ["count", "3"],
    ]


def test_a_run_without_an_end_shows_no_time_left():
    text = io.StringIO()
    report = TerminalReport(Console(file=text, width=200))
    report.start(5, None)
    report.progress(10, None, 4)
    assert text.getvalue().startswith("step 10  ") and "left" not in text.getvalue()
