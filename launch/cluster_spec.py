"""The cluster that TF_CONFIG describes; this version trains on one machine and refuses it."""

import json
import os


def refuse_cluster() -> None:
    """Raises a ValueError where TF_CONFIG describes a cluster, or is no JSON object."""
    try:
        cluster = json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster")
    except (ValueError, AttributeError) as error:
        raise ValueError(f"TF_CONFIG is not a JSON object ({error}); correct or unset it") from None
    if cluster:
        raise ValueError(
            f"TF_CONFIG describes a cluster of {', '.join(cluster)}, and this version trains on "
            "one machine only; unset TF_CONFIG"
        )
