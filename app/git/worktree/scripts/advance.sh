# Move the agent's branch to the commit $1, so that its `git diff` shows what came after.
set -eu
rm -rf /agent/HEAD /agent/index /agent/refs/heads/work
[ -d /agent/refs/heads ] || mkdir -p /agent/refs/heads
echo ref: refs/heads/work >/agent/HEAD
echo "$1" >/agent/refs/heads/work
cp /q/index /agent/index
GIT_INDEX_FILE=/agent/index git read-tree -m "$1"
