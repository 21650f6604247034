"""The manifests that `genever launch kubernetes` prints, against the published schemas."""

import json
import pathlib
import re

import jsonschema
import pytest
import referencing
import yaml
from genever.launch.cluster_spec import this_task
from genever.launch.command_line import run

SCHEMAS = pathlib.Path(__file__).parent / "schemas"
KUBERNETES = "kubernetes-1.31.0.json"
POLICY = {"$ref": f"{KUBERNETES}#/$defs/io.k8s.api.networking.v1.NetworkPolicy"}
CRDS = {"tfjob": "kubeflow.org_tfjobs.yaml", "jobset": "jobset.x-k8s.io_jobsets.yaml"}

FULL = [
    *("--worker", "2", "--ps", "2", "--evaluator", "--name", "flights", "--image", "reg/run:1.0"),
    *("--cpu", "4", "--memory", "8Gi", "--cpu", "ps=500m", "--memory", "ps=2G", "--gpu", "1"),
    *("--volume", "models:/models", "--volume", "data:/data:ro", "--volume", "data:/more/:ro"),
    *("--user", "1000:2000", "--namespace", "team", "--ttl_secs", "3600"),
]
# Words that a shell, Kubernetes ($(NAME), $$) or a reader of YAML could take for something else.
COMMAND = [
    *("train", "--gin_file", "/app/flights.gin", "--model_dir=/models/flights"),
    *("--gin_param", "A.b = \"$(TF_CONFIG) $$ $HOME 'x'\"", "--gin_param", "# no: comment\n- x"),
    *(
        "--",
        "1e3",
        "0o17",
        "yes",
        "n",
        "null",
        "2026-01-01",
        "0x1F",
        "",
        "é",
        "a: b",
        "*x",
        "=",
        "~",
    ),
]


def launch(capsys, kind, *flags, command=COMMAND):
    """Returns the documents that are printed."""
    code = run(["genever", "launch", "kubernetes", "--kind", kind, *flags, "--", *command])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return list(yaml.safe_load_all(printed.out))


def strict(schema):
    """As the API server checks for kubectl: a field that the schema has not is an error."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        schema.setdefault("additionalProperties", False)
    return schema


def custom_resource(kind):
    """Returns the schema of the custom resource."""
    crd = yaml.safe_load((SCHEMAS / CRDS[kind]).read_text())
    schema = strict(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    # The API server itself knows these two, and what metadata is.
    version = f"{crd['spec']['group']}/{crd['spec']['versions'][0]['name']}"
    schema["properties"]["apiVersion"] = {"const": version}
    schema["properties"]["kind"] = {"const": crd["spec"]["names"]["kind"]}
    meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    schema["properties"]["metadata"] = {"$ref": f"{KUBERNETES}#/$defs/{meta}"}
    return schema


def errors(document, schema):
    """Returns what the schema finds wrong, a place and a sentence for each."""
    own = referencing.Resource.from_contents(json.loads((SCHEMAS / KUBERNETES).read_text()))
    registry = referencing.Registry().with_resource(KUBERNETES, own)
    validator = jsonschema.Draft202012Validator(schema, registry=registry)
    return [f"{each.json_path}: {each.message}" for each in validator.iter_errors(document)]


def pods(job):
    """Returns the pod template of each task type, and how many there are."""
    if job["kind"] == "TFJob":
        listed = job["spec"]["tfReplicaSpecs"].items()
        return {key.lower(): (each["template"], each["replicas"]) for key, each in listed}
    return {
        each["name"]: (
            each["template"]["spec"]["template"],
            each["template"]["spec"]["completions"],
        )
        for each in job["spec"]["replicatedJobs"]
    }


def expanded(text, environment):
    """What Kubernetes makes of `text`: $(NAME) of what is known so far, $$ is one $."""
    known = {**environment}
    return re.sub(
        r"\$\$|\$\((\w+)\)",
        lambda m: "$" if m[0] == "$$" else known.get(m[1], m[0]),
        text,
    )


@pytest.mark.parametrize("kind", ["tfjob", "jobset"])
@pytest.mark.parametrize("flags", [FULL, ["--image", "run"], ["--image", "run", "--ps", "1"]])
def test_manifests_fit_the_published_schemas(capsys, kind, flags):
    command = COMMAND if flags is FULL else ["train", "--gin_file", "linear_regression.gin"]
    policy, job = launch(capsys, kind, *flags, command=command)
    assert errors(policy, POLICY) == []
    assert errors(job, custom_resource(kind)) == []


def test_the_schemas_find_what_is_wrong(capsys):
    policy, job = launch(capsys, "tfjob", *FULL)
    policy["spec"]["ingress"][0]["port"] = 2222
    assert "'port' was unexpected" in errors(policy, POLICY)[0]
    chief = job["spec"]["tfReplicaSpecs"]["Chief"]
    chief["replica"] = chief.pop("replicas")
    chief["template"]["spec"]["containers"][0]["command"] = "genever train"
    found = "\n".join(errors(job, custom_resource("tfjob")))
    assert "'replica' was unexpected" in found
    assert "containers[0].command: 'genever train' is not of type" in found

    job = launch(capsys, "jobset", *FULL)[1]
    job["spec"]["successPolicy"]["operator"] = "Some"
    rules = job["spec"]["replicatedJobs"][0]["template"]["spec"]["podFailurePolicy"]["rules"]
    rules[0]["onExitCodes"]["values"] = "1-127"
    found = "\n".join(errors(job, custom_resource("jobset")))
    assert "'Some' is not one of ['All', 'Any']" in found
    assert "'1-127' is not of type" in found


@pytest.mark.parametrize("kind", ["tfjob", "jobset"])
def test_every_pod_runs_the_command_word_for_word(capsys, kind):
    for template, _ in pods(launch(capsys, kind, *FULL)[1]).values():
        container = template["spec"]["containers"][0]
        words = [expanded(word, {"TF_CONFIG": "WRONG"}) for word in container["command"]]
        assert words == ["genever", *COMMAND]
        assert container["image"] == "reg/run:1.0"
        assert container["name"] == "tensorflow"
        assert container["ports"] == [{"name": "tfjob-port", "containerPort": 2222}]


@pytest.mark.parametrize("kind", ["tfjob", "jobset"])
def test_counts_resources_and_volumes(capsys, kind):
    found = pods(launch(capsys, kind, *FULL)[1])
    assert {name: count for name, (_, count) in found.items()} == {
        "chief": 1,
        "worker": 2,
        "ps": 2,
        "evaluator": 1,
    }
    limits = {}
    for name, (template, _) in found.items():
        container = template["spec"]["containers"][0]
        limits[name] = container["resources"]["limits"]
        assert container["resources"]["requests"] == limits[name]
        assert container["volumeMounts"] == [
            {"name": "volume-0", "mountPath": "/models"},
            {"name": "volume-1", "mountPath": "/data", "readOnly": True},
            {"name": "volume-1", "mountPath": "/more", "readOnly": True},
        ]
        assert template["spec"]["volumes"] == [
            {"name": "volume-0", "persistentVolumeClaim": {"claimName": "models"}},
            {
                "name": "volume-1",
                "persistentVolumeClaim": {"claimName": "data", "readOnly": True},
            },
        ]
    trains = {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"}
    assert limits == {
        "chief": trains,
        "worker": trains,
        "ps": {"cpu": "500m", "memory": "2G"},
        "evaluator": {"cpu": "4", "memory": "8Gi"},
    }
    crd = yaml.safe_load((SCHEMAS / CRDS["tfjob"]).read_text())
    own = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    policy = own["properties"]["runPolicy"]["properties"]["schedulingPolicy"]["properties"]
    pattern = policy["minResources"]["additionalProperties"]["pattern"]
    assert all(re.search(pattern, q) for each in limits.values() for q in each.values())


@pytest.mark.parametrize("kind", ["tfjob", "jobset"])
def test_pods_have_no_rights(capsys, kind):
    for template, _ in pods(launch(capsys, kind, *FULL)[1]).values():
        spec = template["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"] == {
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
            "runAsUser": 1000,
            "runAsGroup": 2000,
            "fsGroup": 2000,
        }
        assert spec["containers"][0]["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }
        assert spec["terminationGracePeriodSeconds"] == 150


@pytest.mark.parametrize("kind", ["tfjob", "jobset"])
@pytest.mark.parametrize("gpu", [[], ["--gpu", "2"]])
def test_only_the_jobs_own_pods_reach_its_ports(capsys, kind, gpu):
    policy, job = launch(capsys, kind, "--image", "run", "--worker", "1", *gpu, command=["train"])
    spec = policy["spec"]
    selected = spec["podSelector"]["matchLabels"]
    assert selected == {
        "app.kubernetes.io/name": "genever",
        "app.kubernetes.io/instance": "genever",
    }
    # Egress is not named, so it stays open; NCCL chooses its ports itself.
    assert spec["policyTypes"] == ["Ingress"]
    [rule] = spec["ingress"]
    assert rule["from"] == [{"podSelector": {"matchLabels": selected}}]
    assert rule.get("ports") == (None if gpu else [{"protocol": "TCP", "port": 2222}])
    for template, _ in pods(job).values():
        assert selected.items() <= template["metadata"]["labels"].items()


def test_tfjob_restarts_by_exit_code(capsys):
    policy, job = launch(capsys, "tfjob", *FULL, "--backoff_limit", "7")
    assert job["metadata"] == {
        "name": "flights",
        "namespace": "team",
        "labels": policy["metadata"]["labels"],
    }
    assert policy["metadata"]["namespace"] == "team"
    assert job["spec"]["runPolicy"] == {
        "backoffLimit": 7,
        "cleanPodPolicy": "Running",
        "ttlSecondsAfterFinished": 3600,
    }
    specs = job["spec"]["tfReplicaSpecs"]
    assert list(specs) == ["Chief", "Worker", "PS", "Evaluator"]
    assert {each["restartPolicy"] for each in specs.values()} == {"ExitCode"}
    # The operator writes TF_CONFIG itself, and warns of a restartPolicy in the template.
    for template, _ in pods(job).values():
        names = [each["name"] for each in template["spec"]["containers"][0]["env"]]
        assert names == ["PYTHONUNBUFFERED"]
        assert "restartPolicy" not in template["spec"]


def test_jobset_restarts_by_exit_code(capsys):
    job = launch(capsys, "jobset", *FULL, "--backoff_limit", "7")[1]
    spec = job["spec"]
    assert spec["successPolicy"] == {"operator": "All"}
    assert spec["failurePolicy"] == {"maxRestarts": 0}
    assert spec["network"] == {"enableDNSHostnames": True, "subdomain": "flights"}
    assert spec["ttlSecondsAfterFinished"] == 3600
    for each in spec["replicatedJobs"]:
        assert each["replicas"] == 1
        own = each["template"]["spec"]
        assert own["completionMode"] == "Indexed"
        assert own["completions"] == own["parallelism"]
        assert own["backoffLimit"] == 7
        assert own["template"]["spec"]["restartPolicy"] == "Never"
        permanent, evicted = own["podFailurePolicy"]["rules"]
        assert permanent == {
            "action": "FailJob",
            "onExitCodes": {
                "containerName": "tensorflow",
                "operator": "In",
                "values": list(range(1, 128)),
            },
        }
        assert evicted == {
            "action": "Ignore",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
        }


def test_jobset_gives_every_pod_its_task(capsys, monkeypatch):
    names = {
        kind: [f"flights-{kind}-0-{i}.flights:2222" for i in range(count)]
        for kind, count in (("chief", 1), ("worker", 2), ("ps", 2))
    }
    seen = []
    for kind, (template, count) in pods(launch(capsys, "jobset", *FULL)[1]).items():
        for index in range(count):
            environment = {}
            for each in template["spec"]["containers"][0]["env"]:
                if "valueFrom" in each:
                    assert each["valueFrom"] == {
                        "fieldRef": {
                            "fieldPath": "metadata.annotations"
                            "['batch.kubernetes.io/job-completion-index']"
                        }
                    }
                    environment[each["name"]] = str(index)
                else:
                    environment[each["name"]] = expanded(each["value"], environment)
            monkeypatch.setenv("TF_CONFIG", environment["TF_CONFIG"])
            task = this_task()
            assert {k: list(v) for k, v in task.cluster.items()} == names
            assert task.has_evaluator
            seen.append((task.type, task.index))
            assert task.type == kind
    assert seen == [
        ("chief", 0),
        ("worker", 0),
        ("worker", 1),
        ("ps", 0),
        ("ps", 1),
        ("evaluator", 0),
    ]


MISTAKES = [
    (["--image", "run", "--memory", "8gb"], "--memory: '8gb'", "write 8Gi (binary) or 8G"),
    (["--image", "run", "--memory", "512m"], "--memory: '512m'", "write 512Mi"),
    (["--image", "run", "--memory", "8"], "--memory: '8'", "means bytes; write such as 8Gi"),
    (["--image", "run", "--memory", "much"], "--memory: 'much'", "write such as 8Gi"),
    (["--image", "run", "--cpu", "4Gi"], "--cpu: '4Gi'", "write such as 4, 0.5 or 500m"),
    (["--image", "run", "--cpu", "0"], "--cpu: '0'", "no number of CPUs"),
    (["--image", "run", "--gpu", "0.5"], "--gpu: '0.5'", "no whole number of GPUs"),
    (["--image", "run", "--gpu", "worker=1"], "--gpu: 'worker=1'", "add --worker 1"),
    (["--image", "run", "--cpu", "evaluator=1"], "--cpu: 'evaluator=1'", "add --evaluator"),
    (["--image", "run", "--gpu", "wroker=1"], "--gpu: there is no task type", "mean 'worker'?"),
    ([], "--image is missing", "container image"),
    (["--image", "my run"], "--image: 'my run'", "no container image"),
    (["--image", "run", "--evaluator", "2"], "--evaluator takes no number ('2')", "at most"),
    (["--image", "run", "--evaluator=2"], "--evaluator=2", "one evaluator at most"),
    (["--image", "run", "--worker", "-1"], "--worker=-1", "non-negative"),
    (["--image", "run", "--volume", "models"], "--volume: 'models'", "models:/models"),
    (["--image", "run", "--volume", "m:/m:rx"], "--volume: 'm:/m:rx'", "CLAIM:/path:ro"),
    (["--image", "run", "--volume", "My_Claim:/m"], "--volume: 'My_Claim'", "small letters"),
    (["--image", "run", "--volume", "m:models"], "--volume: 'models'", "absolute path"),
    (["--image", "run", "--volume", "m:/m", "--volume", "n:/m/"], "--volume: two", "'/m'"),
    (["--image", "run", "--user", "me"], "--user: 'me'", "1000:1000"),
    (["--image", "run", "--user", "0"], "--user: the manifest forbids root", "1000"),
    (["--image", "run", "--namespace", "A"], "--namespace: 'A'", "small letters"),
    (["--image", "run", "--name", "My-Run"], "--name: 'My-Run'", "small letter"),
    (["--image", "run", "--name", "a" * 60], "--name: 'aaa", "55 characters"),
    (["--image", "run", "--kind", "job"], "--kind=job", "tfjob|jobset"),
    (["--image", "run", "--ttl_secs", "-1"], "--ttl_secs=-1", "non-negative"),
    (["--image", "run", "--kind", "jobset", "--clean_pod_policy", "All"], "--clean_pod", "tfjob"),
]


@pytest.mark.parametrize(("flags", "start", "cure"), MISTAKES)
def test_a_mistake_is_a_sentence_that_names_the_flag(capsys, flags, start, cure):
    code = run(["genever", "launch", "kubernetes", *flags, "--", "train", "--gin_file", "F.gin"])
    printed = capsys.readouterr()
    assert code == 2
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert start in printed.err
    assert cure in printed.err


@pytest.mark.parametrize(
    ("volumes", "cure"),
    [
        ([], "add --volume CLAIM:/models/run"),
        (["--volume", "data:/model"], "add --volume CLAIM:/models/run"),
        (["--volume", "models:/models:ro"], "leave out ':ro'"),
        (["--volume", "all:/models", "--volume", "run:/models/run:ro"], "leave out ':ro'"),
    ],
)
@pytest.mark.parametrize("given", [["--model_dir", "/models/run"], ["--model_dir=/models/run"]])
def test_a_model_dir_that_the_tasks_would_not_share_is_refused(capsys, volumes, cure, given):
    code = run(
        ["genever", "launch", "kubernetes", "--image", "run", *volumes, "--", "train", *given]
    )
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert "--model_dir /models/run" in printed.err
    assert cure in printed.err


def test_a_model_dir_in_the_image_is_refused(capsys):
    volume = ["--volume", "models:/models"]
    code = run(
        ["genever", "launch", "kubernetes", "--image", "run", *volume]
        + ["--", "train", "--model_dir", "runs/flights"]
    )
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert "--model_dir runs/flights begins in a folder of the image" in printed.err


def test_a_remote_model_dir_needs_no_volume(capsys):
    command = ["train", "--model_dir", "gs://bucket/run"]
    job = launch(capsys, "tfjob", "--image", "run", command=command)[1]
    assert "volumes" not in pods(job)["chief"][0]["spec"]


@pytest.mark.parametrize(("kind", "most"), [("tfjob", 55), ("jobset", 47)])
def test_the_longest_name_that_its_pods_allow(capsys, kind, most):
    job = launch(capsys, kind, "--image", "run", "--name", "a" * most, command=["train"])[1]
    longest = "a" * most + ("-chief-0" if kind == "tfjob" else "-chief-0-0-abcde")
    assert len(longest) == 63
    assert job["metadata"]["name"] == "a" * most
