# Put the files back to the tree $1; what is untracked goes, what is ignored stays.
set -eu
[ ! -e /q/index.lock ] || rm -f /q/index.lock
back() { git read-tree --reset -u "$1" && git clean -ffdq -- .; }

if ! back "$1"; then
    # Folders may have lost their permissions, and the index may have been cut off.
    find /tree -type d ! -perm -700 -exec chmod u+rwx {} \; || true
    rm -f /q/index /q/index.lock
    back "$1"
fi

# The agent's index shows its last commit, so that `git diff` shows what is not committed yet.
rm -rf /agent/index
cp /q/index /agent/index
head=
read -r head 2>/dev/null </agent/refs/heads/work || true
GIT_INDEX_FILE=/agent/index git read-tree -m "$head" 2>/dev/null || true
