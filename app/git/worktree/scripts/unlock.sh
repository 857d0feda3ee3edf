# Take away the locks that a killed git left in the agent's git directory. The scripts of a run and
# the agent's commands take turns there, and no command outlives Fettle: no lock has a living owner.
find /agent -path /agent/objects -prune -o -name '*.lock' ! -type d -exec rm -f {} + || true
