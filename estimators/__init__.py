"""What is trained: model_fns, `RunConfig`, strategies, optimizers, exporters, metrics.

Every name here is a gin configurable of the module `genever`, loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["compat"],
    submod_attrs={},
)
