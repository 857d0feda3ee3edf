"""The dashboard: an issue of Fettle's that lists what waits in a repository, with boxes."""
