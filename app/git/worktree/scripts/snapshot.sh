# Print the tree of the files, and leave a pack with what $1 (a known tree) and $2 (the base) lack.
set -eu
rm -f /q/index.lock /q/pack
[ -s /q/index ] || git read-tree "$1"

add() { git add -A -- . 2>/q/said; }

# Tests make repositories and leave them lying around: those are not part of the change.
leave_out_nested() {
    (cd /tree && find . -mindepth 2 -name .git -prune -print) | sed 's|^\./||; s|/\.git$||' |
    while IFS= read -r nested; do
        [ -z "$(git ls-tree "$2" -- "$nested")" ] || continue
        printf '/%s/\n' "$nested" | sed 's/[][*?\\!# ]/\\&/g' >>/q/exclude
        git update-index --force-remove -- "$nested"
    done
}

if ! add || { [ -s /q/said ] && grep -q 'embedded git repository' /q/said; }; then
    leave_out_nested "$@"
    add || { cat /q/said; exit 1; }
fi
tree=$(git write-tree)
if [ "$tree" != "$1" ]; then
    # Of a tree alone git would leave nothing out, nor find what its files resemble in the base.
    commit=$(git -c user.name=fettle -c user.email=fettle@localhost commit-tree "$tree" -p "$2" </dev/null)
    printf '%s\n' "$commit" "^$1^{tree}" "^$2" | git pack-objects -q --revs --thin --stdout >/q/pack
fi
echo "tree $tree"
