"""Bridge a sandbox's loopback to the proxy's unix socket; the sandbox has no other network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from app.sandbox.port import Mount, SandboxCommand

INSIDE = "/run/fettle"
"""The path at which a sandbox sees its proxy's folder."""
PORT = 3128

CARGO, CARGO_AT = "cargo.toml", "/.cargo/config.toml"
"""A file beside the socket, and where cargo finds it: it looks in all folders above its own."""

_PROXY = f"http://127.0.0.1:{PORT}"
_SCRIPT = Path(__file__).with_name("bridge.pl")

TRUSTSTORE, TRUSTSTORE_PASSWORD = "ca.p12", "changeit"
"""A file beside the socket with the trusted authorities, as Java reads them."""

_JAVA = " ".join(
    f"-D{scheme}.{name}={value}"
    for scheme in ("http", "https")
    for name, value in (("proxyHost", "127.0.0.1"), ("proxyPort", PORT), ("nonProxyHosts", ""))
)
_JAVA_TRUST = " ".join(
    f"-Djavax.net.ssl.trustStore{name}={value}"
    for name, value in (
        ("", f"{INSIDE}/{TRUSTSTORE}"),
        ("Type", "PKCS12"),
        ("Password", TRUSTSTORE_PASSWORD),
    )
)

ENVIRONMENT: Mapping[str, str] = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _PROXY),
    **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), _PROXY),
    "NO_PROXY": "",
    "no_proxy": "",
    "NODE_USE_ENV_PROXY": "1",
    "npm_config_proxy": _PROXY,
    "npm_config_https_proxy": _PROXY,
    "npm_config_noproxy": "",
    "YARN_HTTP_PROXY": _PROXY,
    "YARN_HTTPS_PROXY": _PROXY,
    "CARGO_HTTP_PROXY": _PROXY,
    "JAVA_TOOL_OPTIONS": _JAVA,
    # Newer Mavens look at those only when they are told to.
    "MAVEN_ARGS": "-Daether.connector.http.useSystemProperties=true",
}
"""Variables that lead each tool to the proxy."""

TRUST = (
    "SSL_CERT_FILE",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "npm_config_cafile",
    "CARGO_HTTP_CAINFO",
    "HEX_CACERTS_PATH",
)
"""Variables that name a file of authorities, to one tool or another.

None is of Yarn: what Yarn 3 and Yarn 4 call that, the other refuses. Both heed Node.js's.
"""


def bridge(command: SandboxCommand, socket: Path, bundle: str | None = None) -> SandboxCommand:
    """Return the command with a loopback proxy that leads to this socket, and nowhere else.

    The socket's folder is mounted with everything in it. `bundle` names the file beside the socket
    with the trusted authorities. Proxy variables of the command's environment are overridden.
    """
    folder, cargo = socket.parent, socket.parent / CARGO
    mounts = [Mount(folder, INSIDE), *([Mount(cargo, CARGO_AT)] if cargo.exists() else [])]
    trust = {} if bundle is None else dict.fromkeys(TRUST, f"{INSIDE}/{bundle}")
    if bundle is not None:
        trust["JAVA_TOOL_OPTIONS"] = f"{_JAVA} {_JAVA_TRUST}"
    way = ("/usr/bin/perl", "-e", _SCRIPT.read_text(), str(PORT), f"{INSIDE}/{socket.name}")
    return replace(
        command,
        argv=(*way, *command.argv),
        mounts=(*command.mounts, *mounts),
        environment={**command.environment, **ENVIRONMENT, **trust},
    )
