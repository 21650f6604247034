"""The flags of `genever launch kubernetes`, and what they mean."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from absl import flags

from ...input_fns.errors import did_you_mean
from .scheduler import TASK_TYPES

GPU = "nvidia.com/gpu"
_TRAIN = ("chief", "worker")
_CPU = re.compile(r"\d+(\.\d+)?|\d+m")
_MEMORY = re.compile(r"\d+(\.\d+)?([kMGTPE]|[KMGTPE]i)")
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")


@dataclass(frozen=True)
class Volume:
    """A persistent volume claim, and where it is mounted in every task."""

    claim: str
    path: str
    read_only: bool


@dataclass(frozen=True)
class Amount:
    """So much of a resource for each task of a type; of every type where it is None."""

    flag: str
    task_type: str | None
    quantity: str


@dataclass(frozen=True)
class Settings:
    """What a manifest says beside the job.

    Attributes:
      kind: "tfjob" or "jobset".
      image: the container image; None where only a job that is there already is asked about.
      amounts: what was given for --cpu, --memory and --gpu.
      volumes: what was given for --volume.
      user: numeric user and group of the processes, or None for the image's own.
      namespace: where the job lives, or None for kubectl's own.
      backoff_limit: how often lost tasks are started again in all.
      ttl_secs: seconds after its end when the job is deleted; None keeps it.
      clean_pod_policy: what TFJob does with pods when the job has ended.
      grace_secs: seconds between SIGTERM and SIGKILL.
    """

    kind: str
    image: str | None
    amounts: tuple[Amount, ...]
    volumes: tuple[Volume, ...]
    user: tuple[int, int] | None
    namespace: str | None
    backoff_limit: int
    ttl_secs: int | None
    clean_pod_policy: str
    grace_secs: int


def define_flags(values: flags.FlagValues) -> None:
    """Adds the flags of Kubernetes to those of `launch`."""
    flags.DEFINE_enum(
        "kind",
        "tfjob",
        ["tfjob", "jobset"],
        "TFJob of the Kubeflow training operator v1, or JobSet.",
        flag_values=values,
    )
    flags.DEFINE_string(
        "image", None, "The container image, with Genever and your code in it.", flag_values=values
    )
    for name, example in (("cpu", "4"), ("memory", "8Gi"), ("gpu", "1")):
        whose = "chief and worker" if name == "gpu" else "task"
        flags.DEFINE_multi_string(
            name,
            [],
            f"For each {whose}, such as {example}; worker={example} is for workers only.",
            flag_values=values,
        )
    flags.DEFINE_multi_string(
        "volume",
        [],
        "CLAIM:/path[:ro]: a persistent volume claim and where every task finds it.",
        flag_values=values,
    )
    flags.DEFINE_string(
        "user", None, "UID[:GID] of the processes (default: the image's).", flag_values=values
    )
    flags.DEFINE_string("namespace", None, "Default: kubectl's own.", flag_values=values)
    flags.DEFINE_integer(
        "backoff_limit",
        20,
        "How often lost tasks (exit code 128 and above) are started again.",
        lower_bound=0,
        flag_values=values,
    )
    flags.DEFINE_integer(
        "ttl_secs",
        None,
        "Seconds after its end when the job is deleted (default: never).",
        lower_bound=0,
        flag_values=values,
    )
    flags.DEFINE_enum(
        "clean_pod_policy",
        None,
        ["Running", "None", "All"],
        "Which pods a TFJob deletes when it has ended (default: those that still run).",
        flag_values=values,
    )
    flags.DEFINE_integer(
        "grace_secs",
        150,
        "Seconds from SIGTERM to SIGKILL; give more than --grace_secs of train, 120.",
        lower_bound=1,
        flag_values=values,
    )


def settings(values: flags.FlagValues) -> Settings:
    """Reads the flags.

    Raises:
      ValueError: one is wrong; names it.
    """
    kind, policy = values["kind"].value, values["clean_pod_policy"].value
    if policy is not None and kind == "jobset":
        raise ValueError("--clean_pod_policy has a meaning only with --kind tfjob")
    image, namespace = values["image"].value, values["namespace"].value
    if image is not None and not re.fullmatch(r"[^\s]+", image):
        raise ValueError(
            f"--image: {image!r} is no container image; write such as 'registry/run:1'"
        )
    if namespace is not None and not re.fullmatch(_LABEL, namespace):
        raise ValueError(f"--namespace: '{namespace}' must be of small letters, digits and hyphens")
    return Settings(
        kind=kind,
        image=image,
        amounts=tuple(
            amount
            for flag in ("cpu", "memory", "gpu")
            for text in values[flag].value
            for amount in _amounts(flag, text)
        ),
        volumes=_volumes(values["volume"].value),
        user=_user(values["user"].value),
        namespace=namespace,
        backoff_limit=values["backoff_limit"].value,
        ttl_secs=values["ttl_secs"].value,
        clean_pod_policy=policy or "Running",
        grace_secs=values["grace_secs"].value,
    )


def resources(amounts: Sequence[Amount], counts: Mapping[str, int]) -> dict[str, dict[str, str]]:
    """Returns the resources of a task by task type, for those types that the job has.

    What is given for one type goes before what is given for all, and later goes before earlier.

    Raises:
      ValueError: something is given for a type of which the job has no task.
    """
    found: dict[str, dict[str, str]] = {kind: {} for kind in TASK_TYPES if counts.get(kind)}
    for amount in sorted(amounts, key=lambda a: a.task_type is not None):
        everyone = _TRAIN if amount.flag == "gpu" else TASK_TYPES
        for kind in everyone if amount.task_type is None else (amount.task_type,):
            if kind in found:
                found[kind][GPU if amount.flag == "gpu" else amount.flag] = amount.quantity
            elif amount.task_type is not None:
                more = "--evaluator" if kind == "evaluator" else f"--{kind} 1"
                raise ValueError(
                    f"--{amount.flag}: '{kind}={amount.quantity}' is for a {kind}, but the job has "
                    f"none; add {more} or take it away"
                )
    for own in found.values():
        if own.get(GPU) == "0":
            del own[GPU]
    return found


def _amounts(flag: str, text: str) -> list[Amount]:
    found = []
    for part in text.split(","):
        kind, equals, quantity = part.strip().rpartition("=")
        if equals and kind not in TASK_TYPES:
            hint = did_you_mean(kind, TASK_TYPES) or f"; the types are {', '.join(TASK_TYPES)}"
            raise ValueError(f"--{flag}: there is no task type '{kind}'{hint}")
        _check_quantity(flag, quantity)
        found.append(Amount(flag, kind if equals else None, quantity))
    return found


def _check_quantity(flag: str, quantity: str) -> None:
    if flag == "gpu" and not re.fullmatch(r"0|[1-9]\d*", quantity):
        raise ValueError(f"--gpu: '{quantity}' is no whole number of GPUs; write such as --gpu 1")
    if flag == "cpu" and (not _CPU.fullmatch(quantity) or not quantity.strip("0.m")):
        raise ValueError(
            f"--cpu: '{quantity}' is no number of CPUs; write such as 4, 0.5 or 500m (thousandths)"
        )
    if flag != "memory" or (_MEMORY.fullmatch(quantity) and quantity.strip("0.kKMGTPEi")):
        return
    number = re.match(r"\d+(\.\d+)?", quantity)
    unit = re.search(r"[kKmMgGtTpP]", quantity)
    if number and unit and number[0].strip("0."):
        letter = unit[0].upper()
        cure = f"write {number[0]}{letter}i" + (
            f" (binary) or {number[0]}{'k' if letter == 'K' else letter} (decimal)"
        )
    elif number and number[0].strip("0.") and number[0] == quantity:
        cure = f"without a unit it means bytes; write such as {quantity}Gi"
    else:
        cure = "write such as 8Gi"
    raise ValueError(f"--memory: '{quantity}' is no amount of memory; {cure}")


def _volumes(texts: Sequence[str]) -> tuple[Volume, ...]:
    found: list[Volume] = []
    for text in texts:
        claim, _, rest = text.partition(":")
        path, colon, mode = rest.partition(":")
        if not claim or not path or (colon and mode not in ("ro", "rw")):
            raise ValueError(
                f"--volume: '{text}' is not CLAIM:/path or CLAIM:/path:ro; write such as "
                "models:/models"
            )
        if not _SUBDOMAIN.fullmatch(claim) or len(claim) > 253:
            raise ValueError(
                f"--volume: '{claim}' of '{text}' cannot be the name of a claim, which has small "
                "letters, digits, hyphens and dots"
            )
        if not path.startswith("/") or path.rstrip("/") == "" or ".." in path.split("/"):
            raise ValueError(
                f"--volume: '{path}' of '{text}' must be an absolute path below /, without '..'"
            )
        path = path.rstrip("/")
        if any(each.path == path for each in found):
            raise ValueError(f"--volume: two claims are mounted at '{path}'; give each its own")
        found.append(Volume(claim, path, mode == "ro"))
    return tuple(found)


def _user(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    numbers = re.fullmatch(r"(\d{1,9})(?::(\d{1,9}))?", text)
    if not numbers:
        raise ValueError(f"--user: '{text}' is not UID or UID:GID; write numbers such as 1000:1000")
    user = int(numbers[1])
    if user == 0:
        raise ValueError("--user: the manifest forbids root (0); write such as --user 1000")
    return user, user if numbers[2] is None else int(numbers[2])
