# List what git ignores in the tree, each ignored folder as one, NUL-separated, to /q/ignored.
set -eu
rm -rf /q/ignored
git ls-files --others --ignored --exclude-standard --directory -z >/q/ignored
