"""What a model is trained on: a schema, readers, and the input_fn that makes batches of them.

Every name here is a gin configurable of the module `genever`, loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={},
)
