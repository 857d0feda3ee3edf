"""Go's module proxies, asked of `go env`."""

from __future__ import annotations

import json
import re

from app.dependencies.indexes.operator_config import Operator
from app.dependencies.indexes.parse_url import add
from app.dependencies.indexes.result import Configured

_PASSED_ON = ("GOSUMDB", "GONOSUMDB", "GONOSUMCHECK", "GOPRIVATE", "GONOPROXY")
_SEPARATOR = re.compile(r"([,|])")


async def go_indexes(operator: Operator) -> Configured:
    """Return Go's module proxies; going to version control directly is switched off.

    https://go.dev/ref/mod#module-proxy
    """
    made = Configured("go")
    printed = await operator.ask("go", "env", "-json", "GOPROXY", *_PASSED_ON)
    options = json.loads(printed) if printed else dict(operator.environ)
    proxies = [
        text
        for url in _SEPARATOR.split(options.get("GOPROXY", ""))[::2]
        for text in add(made, operator, [url] if "://" in url else [], "go")
    ]
    if not proxies:
        made.notes.append(
            "Go cannot be asked for its module proxy here. Install it beside Fettle, or set "
            "GOPROXY in its environment."
        )
    made.environment = {name: options[name] for name in _PASSED_ON if options.get(name)}
    made.environment |= {"GOPROXY": ",".join(proxies) or "off", "GOTOOLCHAIN": "local"}
    checks = options.get("GOSUMDB", "off").partition("+")[0]
    if checks != "off" and "." in checks and " " not in checks:
        add(made, operator, [f"https://{checks}"], "plain")
    return made
