"""Exit 0 when the server on this port of this machine says that it lives; the image's healthcheck.

    python deploy/healthcheck.py 8080

It asks /healthz, not /readyz: a server that drains, or waits for its database, is not to be killed.
"""

from __future__ import annotations

import http.client
import sys

SECONDS = 4


def main(port: int) -> None:
    """Ask; a proxy that is set for the way out is not asked."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        sys.exit(f"no answer on port {port}: {error}")
    finally:
        connection.close()
    if status != 200:
        sys.exit(f"/healthz answers {status}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
