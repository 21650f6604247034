"""What a job is in Kubernetes: a TFJob or a JobSet, and a NetworkPolicy around it.

TensorFlow's gRPC asks nobody who they are, so the policy lets only the job's own pods in. All roles
of Genever end by themselves and outlive a restart of any other, so a task that was lost is started
again alone: exit codes 128 and above are worth it, those below are not.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from .kubernetes_flags import GPU, Settings, Volume, resources
from .scheduler import Job

PORT = 2222
CONTAINER = "tensorflow"
RESOURCE = {"tfjob": "tfjobs.kubeflow.org", "jobset": "jobsets.jobset.x-k8s.io"}
# Where each kind of job writes a pod's index among the pods of its type.
INDEX_LABEL = {
    "tfjob": "training.kubeflow.org/replica-index",
    "jobset": "batch.kubernetes.io/job-completion-index",
}
TASK_TYPE_LABEL = "app.kubernetes.io/component"

_REPLICA_TYPE = {"chief": "Chief", "worker": "Worker", "ps": "PS", "evaluator": "Evaluator"}
_INDEX = "GENEVER_TASK_INDEX"
_LONGEST_NAME = 63
_PERMANENT = range(1, 128)


def manifest(job: Job, settings: Settings) -> str:
    """Returns the YAML that `kubectl apply -f -` takes.

    Raises:
      ValueError: the job cannot run on Kubernetes as it is asked for; names the flag.
    """
    _check_name(job, settings.kind)
    _check_model_dir(job, settings.volumes)
    if not settings.image:
        raise ValueError(
            "--image is missing: the container image that has Genever and your code in it"
        )
    tasks = resources(settings.amounts, job.counts)
    policy = _network_policy(job, settings, any(GPU in own for own in tasks.values()))
    what = (_tfjob if settings.kind == "tfjob" else _jobset)(job, settings, tasks)
    return (
        "# Only the job's own pods may connect to it: TensorFlow's gRPC asks nobody who they are.\n"
        f"{_yaml(policy)}---\n"
        "# Exit codes: 0 done, 1 to 127 permanent, 128 and above worth another try.\n"
        f"{_yaml(what)}"
    )


def labels(name: str) -> dict[str, str]:
    """The labels by which the pods of a job are found."""
    return {"app.kubernetes.io/name": "genever", "app.kubernetes.io/instance": name}


def _check_name(job: Job, kind: str) -> None:
    if not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", job.name):
        raise ValueError(
            f"--name: '{job.name}' must begin with a small letter and have small letters, digits "
            "and hyphens on Kubernetes, such as 'my-run'"
        )
    # The operators put these behind the name of the job to name its pods.
    behind = "-{}-{}" if kind == "tfjob" else "-{}-0-{}-abcde"
    longest = max(len(behind.format(*task)) for task in job.tasks)
    if len(job.name) + longest > _LONGEST_NAME:
        raise ValueError(
            f"--name: '{job.name}' is too long for the names of its pods; "
            f"{_LONGEST_NAME - longest} characters can be had"
        )


def _check_model_dir(job: Job, volumes: tuple[Volume, ...]) -> None:
    """Refuses a model_dir that would be another one in each pod, where all would wait for ever."""
    model_dir = job.flag("model_dir")
    if not model_dir or "://" in model_dir:
        return
    if not model_dir.startswith("/"):
        raise ValueError(
            f"--volume: --model_dir {model_dir} begins in a folder of the image, so every task "
            "would have one of its own; write an absolute path on a volume, such as /models/run "
            "with --volume CLAIM:/models"
        )
    over = [v for v in volumes if f"{model_dir.rstrip('/')}/".startswith(f"{v.path}/")]
    if not over:
        raise ValueError(
            f"--volume: --model_dir {model_dir} lies on no volume, so every task would have one of "
            f"its own; add --volume CLAIM:{model_dir.rstrip('/') or '/models'}"
        )
    nearest = max(over, key=lambda v: len(v.path))
    if nearest.read_only:
        raise ValueError(
            f"--volume: --model_dir {model_dir} lies on '{nearest.claim}', which is mounted "
            "read-only; leave out ':ro'"
        )


def _metadata(job: Job, settings: Settings) -> dict[str, Any]:
    where = {} if settings.namespace is None else {"namespace": settings.namespace}
    return {"name": job.name, **where, "labels": labels(job.name)}


def _network_policy(job: Job, settings: Settings, gpus: bool) -> dict[str, Any]:
    peers = {"from": [{"podSelector": {"matchLabels": labels(job.name)}}]}
    # NCCL chooses its ports itself.
    ports = {} if gpus else {"ports": [{"protocol": "TCP", "port": PORT}]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(job, settings),
        "spec": {
            "podSelector": {"matchLabels": labels(job.name)},
            "policyTypes": ["Ingress"],
            "ingress": [{**peers, **ports}],
        },
    }


def _tfjob(job: Job, settings: Settings, tasks: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    policy: dict[str, Any] = {
        "backoffLimit": settings.backoff_limit,
        "cleanPodPolicy": settings.clean_pod_policy,
    }
    if settings.ttl_secs is not None:
        policy["ttlSecondsAfterFinished"] = settings.ttl_secs
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": _metadata(job, settings),
        "spec": {
            "runPolicy": policy,
            "tfReplicaSpecs": {
                _REPLICA_TYPE[kind]: {
                    "replicas": job.counts[kind],
                    "restartPolicy": "ExitCode",
                    # The operator adds TF_CONFIG to the container of this name.
                    "template": _pod(job, settings, kind, own, []),
                }
                for kind, own in tasks.items()
            },
        },
    }


def _jobset(job: Job, settings: Settings, tasks: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "network": {"enableDNSHostnames": True, "subdomain": job.name},
        "successPolicy": {"operator": "All"},
        # Lost pods are replaced one by one below; to start all of them anew would help nobody.
        "failurePolicy": {"maxRestarts": 0},
    }
    if settings.ttl_secs is not None:
        spec["ttlSecondsAfterFinished"] = settings.ttl_secs
    spec["replicatedJobs"] = [_replicated_job(job, settings, kind, tasks[kind]) for kind in tasks]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": _metadata(job, settings),
        "spec": spec,
    }


def _replicated_job(
    job: Job, settings: Settings, kind: str, own: Mapping[str, str]
) -> dict[str, Any]:
    template = _pod(job, settings, kind, own, _task_environment(job, kind))
    template["spec"]["restartPolicy"] = "Never"
    permanent = {
        "action": "FailJob",
        "onExitCodes": {
            "containerName": CONTAINER,
            "operator": "In",
            "values": _Row(_PERMANENT),
        },
    }
    evicted = {
        "action": "Ignore",
        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
    }
    return {
        "name": kind,
        "replicas": 1,
        "template": {
            "spec": {
                "completionMode": "Indexed",
                "completions": job.counts[kind],
                "parallelism": job.counts[kind],
                "backoffLimit": settings.backoff_limit,
                "podFailurePolicy": {"rules": [permanent, evicted]},
                "template": template,
            }
        },
    }


def _task_environment(job: Job, kind: str) -> list[dict[str, Any]]:
    """TF_CONFIG from the stable names of the pods; Kubernetes puts in the index of each.

    JOB_COMPLETION_INDEX comes after these variables, so they cannot name it.
    """
    cluster = {
        other: [f"{job.name}-{other}-0-{i}.{job.name}:{PORT}" for i in range(count)]
        for other, count in job.counts.items()
        if count
    }
    task = f'{{"type": "{kind}", "index": $({_INDEX})}}'
    lines = ",\n".join(f'  "{other}": {json.dumps(each)}' for other, each in cluster.items())
    index = f"metadata.annotations['{INDEX_LABEL['jobset']}']"
    return [
        {"name": _INDEX, "valueFrom": {"fieldRef": {"fieldPath": index}}},
        {"name": "TF_CONFIG", "value": f'{{"cluster": {{\n{lines}}},\n "task": {task}}}'},
    ]


def _pod(
    job: Job,
    settings: Settings,
    kind: str,
    own: Mapping[str, str],
    environment: list[dict[str, Any]],
) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": settings.image,
        "command": ["genever", *(_unexpanded(word) for word in job.command)],
        "ports": [{"name": "tfjob-port", "containerPort": PORT}],
        "env": [{"name": "PYTHONUNBUFFERED", "value": "1"}, *environment],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    if own:
        # As much as at most, so that a task is among the last to be evicted.
        container["resources"] = {"requests": dict(own), "limits": dict(own)}
    security: dict[str, Any] = {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    if settings.user is not None:
        user, group = settings.user
        security |= {"runAsUser": user, "runAsGroup": group, "fsGroup": group}
    spec: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": settings.grace_secs,
        "securityContext": security,
        "containers": [container],
    }
    if settings.volumes:
        container["volumeMounts"], spec["volumes"] = _mounts(settings.volumes)
    return {"metadata": {"labels": {**labels(job.name), TASK_TYPE_LABEL: kind}}, "spec": spec}


def _mounts(volumes: tuple[Volume, ...]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    claims = {claim: f"volume-{at}" for at, claim in enumerate({v.claim: None for v in volumes})}
    mounts, listed = [], []
    for volume in volumes:
        only = {"readOnly": True} if volume.read_only else {}
        mounts.append({"name": claims[volume.claim], "mountPath": volume.path, **only})
    for claim, name in claims.items():
        # A claim that several nodes may only read must say so itself.
        all_read = all(v.read_only for v in volumes if v.claim == claim)
        only = {"readOnly": True} if all_read else {}
        listed.append({"name": name, "persistentVolumeClaim": {"claimName": claim, **only}})
    return mounts, listed


def _unexpanded(word: str) -> str:
    """Kubernetes replaces $(NAME) in a command, and reads $$ as one $."""
    return word.replace("$", "$$")


class _Row(list):
    """A list that is written in one row."""


def _yaml(document: Mapping[str, Any]) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data):
            return True

    def text(dumper, value):
        # Other readers of YAML take more words for numbers and booleans than PyYAML does.
        plain = re.fullmatch(r"(--)?[A-Za-z/][\w./:=-]*[\w/]", value, re.ASCII)
        style = None if plain else "|" if "\n" in value else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    def row(dumper, value):
        return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=True)

    Dumper.add_representer(str, text)
    Dumper.add_representer(_Row, row)
    return yaml.dump(document, Dumper=Dumper, sort_keys=False, default_flow_style=False, width=100)
