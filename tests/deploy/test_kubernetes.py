"""The manifests: valid, a sandbox that works, nothing secret, labels and ports that agree."""

import json
import shutil
import subprocess

import pytest
import yaml

from app.wiring.serve import DRAIN_SECONDS

VERSION = "1.33"
"""The first in which a pod may leave /proc without masks unless somebody switched that off."""


@pytest.fixture(scope="module")
def kustomization(deploy):
    return yaml.safe_load((deploy / "kustomization.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def resources(deploy):
    """Everything in kubernetes/, by kind and name."""
    files = sorted((deploy / "kubernetes").glob("*.yaml"))
    loaded = [each for file in files for each in yaml.safe_load_all(file.read_text("utf-8"))]
    found = {(each["kind"], each["metadata"]["name"]): each for each in loaded}
    assert len(found) == len(loaded)
    return found


@pytest.fixture
def pod(resources):
    return resources["Deployment", "fettle"]["spec"]["template"]["spec"]


@pytest.fixture
def server(pod):
    (container,) = pod["containers"]
    return container


def test_all_but_the_example_of_the_secret_is_listed_and_there(deploy, kustomization):
    there = {f"kubernetes/{file.name}" for file in (deploy / "kubernetes").iterdir()}
    assert set(kustomization["resources"]) == there - {"kubernetes/secret.example.yaml"}


def test_each_is_what_the_api_describes(resources):
    validate = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate, which has the schemas, is not installed"
    )
    for resource in resources.values():
        validate.validate(resource, VERSION, strict=True)


def test_kustomize_puts_it_together_with_the_profile_that_is_tested(deploy, kustomization):
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    ran = subprocess.run(
        ["kubectl", "kustomize", deploy], capture_output=True, text=True, check=True, timeout=60
    )
    made = [each for each in yaml.safe_load_all(ran.stdout) if each]
    (profile,) = [each["data"] for each in made if "fettle.json" in each.get("data", {})]
    assert json.loads(profile["fettle.json"]) == json.loads((deploy / "seccomp.json").read_text())
    assert {each["metadata"].get("namespace", "fettle") for each in made} == {"fettle"}
    images = {
        container["image"]
        for each in made
        if each["kind"] in {"Deployment", "DaemonSet"}
        for container in each["spec"]["template"]["spec"]["containers"]
    }
    assert images == {f"fettle:{kustomization['images'][0]['newTag']}"}


def test_the_image_is_the_projects_version(kustomization, project):
    (image,) = kustomization["images"]
    assert image["newTag"] == project["version"]


def test_what_it_sets_are_settings_and_none_is_secret(
    server, kustomization, variables, secret_variables
):
    (settings,) = [
        each
        for each in kustomization["configMapGenerator"]
        if {"configMapRef": {"name": each["name"]}} in server["envFrom"]
    ]
    named = {each["name"] for each in server["env"]}
    named |= {line.partition("=")[0] for line in settings["literals"]}
    assert named <= set(variables) - secret_variables
    assert "FETTLE_WORKER" in named


def test_secrets_come_as_files_and_the_example_has_no_value(resources, pod, secret_variables):
    example = resources["Secret", "fettle"]
    assert set(example["stringData"]) <= secret_variables
    assert set(example["stringData"].values()) == {""}
    (volume,) = [each for each in pod["volumes"] if "secret" in each]
    assert volume["secret"]["secretName"] == "fettle"
    mounts = {each["name"]: each for each in pod["containers"][0]["volumeMounts"]}
    assert mounts[volume["name"]]["mountPath"] == "/run/secrets"
    assert mounts[volume["name"]]["readOnly"] is True


def test_bubblewrap_is_given_what_it_needs_and_nothing_else_is(pod, server):
    assert pod["hostUsers"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 10001
    assert pod["securityContext"]["seccompProfile"]["localhostProfile"] == "fettle.json"
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    assert server["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "procMount": "Unmasked",
        "readOnlyRootFilesystem": True,
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert not [each for each in pod["volumes"] if "hostPath" in each]


def test_the_profile_gets_where_the_pod_looks_for_it(resources, pod, kustomization):
    template = resources["DaemonSet", "fettle-seccomp"]["spec"]["template"]["spec"]
    volumes = {each["name"]: each for each in template["volumes"]}
    assert volumes["machine"]["hostPath"]["path"] == "/var/lib/kubelet/seccomp"
    (generated,) = [
        each
        for each in kustomization["configMapGenerator"]
        if each["name"] == volumes["profile"]["configMap"]["name"]
    ]
    named = pod["securityContext"]["seccompProfile"]["localhostProfile"]
    assert generated["files"] == [f"{named}=seccomp.json"]
    (install,) = template["initContainers"]
    assert install["command"][-2:] == [f"/profile/{named}", f"/seccomp/{named}"]


def test_ports_and_health_paths_are_the_servers(resources, server, port):
    (own,) = server["ports"]
    assert own["containerPort"] == port
    (set_port,) = [each["value"] for each in server["env"] if each["name"] == "FETTLE_PORT"]
    assert set_port == str(port)
    (service,) = resources["Service", "fettle"]["spec"]["ports"]
    assert service["targetPort"] == own["name"]
    probes = {name: server[name]["httpGet"] for name in server if name.endswith("Probe")}
    assert {each["port"] for each in probes.values()} == {own["name"]}
    assert {name: each["path"] for name, each in probes.items()} == {
        "startupProbe": "/healthz",
        "livenessProbe": "/healthz",
        "readinessProbe": "/readyz",
    }
    (rule,) = resources["NetworkPolicy", "fettle"]["spec"]["ingress"]
    assert [each["port"] for each in rule["ports"]] == [port]


def test_everything_that_selects_pods_selects_those_that_there_are(resources):
    labels = [
        resources[kind, name]["spec"]["template"]["metadata"]["labels"]
        for kind, name in (("Deployment", "fettle"), ("DaemonSet", "fettle-seccomp"))
    ]
    for kind, name in resources:
        spec = resources[kind, name].get("spec", {})
        selector = spec.get("podSelector") or spec.get("selector")
        if selector:
            assert selector.get("matchLabels", selector) in labels, (kind, name)


def test_the_way_out_leads_to_no_credentials_of_the_cloud(resources):
    rules = resources["NetworkPolicy", "fettle"]["spec"]["egress"]
    blocks = [to["ipBlock"] for rule in rules for to in rule["to"] if "ipBlock" in to]
    assert {block["cidr"] for block in blocks} == {"0.0.0.0/0", "::/0"}
    closed = {each for block in blocks for each in block["except"]}
    assert {"169.254.0.0/16", "10.0.0.0/8", "fe80::/10", "fc00::/7"} <= closed


def test_stopping_waits_for_the_drain_and_machines_can_be_emptied(resources, pod):
    assert pod["terminationGracePeriodSeconds"] >= 2 * DRAIN_SECONDS
    assert resources["PodDisruptionBudget", "fettle"]["spec"]["maxUnavailable"] == 1


def test_an_update_rolls_and_a_pod_keeps_nothing(resources, pod, server):
    spec = resources["Deployment", "fettle"]["spec"]
    assert spec["replicas"] > 1, "one alone has nobody to hand its runs to"
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    volumes = {each["name"]: each for each in pod["volumes"]}
    assert "emptyDir" in volumes["data"]
    (mount,) = [each for each in server["volumeMounts"] if each["name"] == "data"]
    env = {each["name"]: each for each in server["env"]}
    assert mount["mountPath"] == env["FETTLE_DATA_DIR"]["value"]
    assert env["FETTLE_WORKER"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
    stop = int(server["lifecycle"]["preStop"]["exec"]["command"][1])
    assert stop + 2 * DRAIN_SECONDS <= pod["terminationGracePeriodSeconds"]
