"""Who runs a training, where, and how it ends: `train_and_evaluate`, the ledger, the command line.

Every name here is a gin configurable of the module `genever`, loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={"driver": ["train_and_evaluate"]},
)
