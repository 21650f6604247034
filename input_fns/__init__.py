"""What a model is trained on: a schema, readers, and the input_fn that makes batches of them.

Every name here is loaded when it is first used; those that a config may name are gin configurables
of the module `genever`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "arrays": ["ArrayReader", "FrameReader"],
        "csv_reader": ["CsvReader"],
        "errors": ["InputError", "bad_records", "explain"],
        "flights": ["flights_frame"],
        "linear_example": ["linear_arrays"],
        "pipeline": ["reader_input_fn"],
        "reader": ["Order", "Reader"],
        "schema": ["Feature", "Schema"],
        "tfrecord_reader": ["TFRecordReader"],
    },
)
