"""What `genever run --tf1` makes of a name of tf.contrib, without importing what it leads to."""

from ..estimators.compat.contrib_table import MODULES, NOTHING, Module


def advice(name: str) -> tuple[bool, str]:
    """What to do about a name of tf.contrib.

    Args:
      name: as in `tf.contrib.layers.xavier_initializer`.

    Returns:
      Whether `genever run --tf1` has it, and the cure.
    """
    part, *rest = name.split(".")[2:] or [""]
    if not part:
        return True, "most of tf.contrib is there; what is not is listed by its name"
    module = MODULES.get(part, Module())
    # `slim.python.slim.x` is written by the folders of the sources: its names are the module's own.
    single = "" if "python" in rest[:1] else ".".join(rest[:1])
    place = module.names.get(single, "")
    if place and " " not in place:
        return True, f"leads to {_shown(place)} there"
    if place or not (module.homes or (module.names and not single)):
        return False, f"tf.contrib ended with TensorFlow 1; {place or module.advice or NOTHING}"
    if single:
        return True, f"leads to {' or '.join(map(_shown, module.homes))} there"
    if not module.homes:
        return True, "only the names of it that live on are there"
    return True, f"leads to {' and '.join(module.homes)} there"


def _shown(place: str) -> str:
    return f"Genever's own {place.rpartition('.')[2]}" if place.startswith(".") else place
