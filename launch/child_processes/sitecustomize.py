"""Gives a child process of `genever run` what its parent has, before its first line.

Python imports this at its start, from PYTHONPATH. A sitecustomize that it hides runs as well.
"""

import importlib.util
import json
import os
import sys
from importlib.machinery import PathFinder


def _run_the_hidden_one():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _enter():
    if json.loads(os.environ.get("GENEVER_RUN", "{}")).get("prefix") == sys.prefix:
        from genever.launch.legacy import enter_inherited

        enter_inherited()


_run_the_hidden_one()
_enter()
