"""The reverse proxies: only webhooks come in, whole ones of any size that GitHub sends."""

import re
import shutil
import subprocess

import pytest
import yaml

from app.webhooks.receiver import MAX_BODY

CERTIFICATE = re.compile(r"/etc/letsencrypt/live/[\w.]+/(\w+)\.pem")


@pytest.fixture
def nginx(deploy):
    return (deploy / "proxy/nginx.conf").read_text("utf-8")


@pytest.fixture
def caddy(deploy):
    return (deploy / "proxy/Caddyfile").read_text("utf-8")


@pytest.fixture
def cloudflared(deploy):
    return yaml.safe_load((deploy / "proxy/cloudflared.yml").read_text("utf-8"))


def test_each_leads_to_the_port_of_the_server(nginx, caddy, cloudflared, port):
    assert re.findall(r"proxy_pass (\S+);", nginx) == [f"http://127.0.0.1:{port}"]
    assert re.findall(r"reverse_proxy (\S+)", caddy) == [f"127.0.0.1:{port}"]
    assert cloudflared["ingress"][0]["service"] == f"http://127.0.0.1:{port}"


def test_each_lets_webhooks_in_and_nothing_else(nginx, caddy, cloudflared):
    assert re.findall(r"location (.+) \{", nginx) == ["= /webhook", "/"]
    assert "return 404;" in nginx
    assert re.findall(r"^\s*path (.+)$", caddy, re.MULTILINE) == ["/webhook"]
    assert "respond 404" in caddy
    assert [each.get("path") for each in cloudflared["ingress"]] == ["^/webhook$", None]
    assert cloudflared["ingress"][-1]["service"] == "http_status:404"


def test_each_lets_the_largest_delivery_through(nginx, caddy):
    (most,) = re.findall(r"client_max_body_size (\d+)m;", nginx)
    assert int(most) * 2**20 == MAX_BODY
    (most,) = re.findall(r"max_size (\d+)MiB", caddy)
    assert int(most) * 2**20 == MAX_BODY


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_nginx_understands_its_file(nginx, tmp_path):
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    made = ("-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=example")
    files = ("-keyout", f"{tmp_path}/privkey.pem", "-out", f"{tmp_path}/fullchain.pem")
    assert run("openssl", "req", *made, *files).returncode == 0
    server = CERTIFICATE.sub(rf"{tmp_path}/\1.pem", nginx)
    whole = f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\n{server}\n}}\n"
    (tmp_path / "nginx.conf").write_text(whole)
    ran = run("nginx", "-t", "-p", str(tmp_path), "-c", f"{tmp_path}/nginx.conf")
    assert "syntax is ok" in ran.stderr, ran.stderr  # folders and ports are the machine's affair


def test_caddy_understands_its_file(deploy):
    if shutil.which("caddy") is None:
        pytest.skip("caddy is not installed")
    ran = run("caddy", "validate", "--adapter", "caddyfile", "--config", deploy / "proxy/Caddyfile")
    assert ran.returncode == 0, ran.stderr
