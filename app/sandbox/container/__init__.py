"""The sandbox of container engines: each command in a container of podman or docker."""
