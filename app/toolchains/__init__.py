"""The toolchains of a repository: on the machine, in the operator's folders, or fetched."""
