# Writes out where the files lie, and the reports of the last run, each behind a line of a mark
# and its name. The other arguments are an expression of find(1) for those that lie in the folders of builds.
at=.git/fettle mark=$1
shift

show() {
    printf '\n%s %s\n' "$mark" "${1##*/}"
    case $1 in
    *.xml | *.trx) cat "$1" ;;
    *) grep -v '"Action":"\(run\|pause\|cont\|start\)"' "$1" ;; # most of what go writes
    esac
}

list() {
    find $at -maxdepth 1 -type f ! -name began ! -name '*_reporter.*' -print0
    find . -name .git -prune -o -name node_modules -prune -o -type f -newer $at/began \
        \( "$@" \) -print0
}

printf '\n%s .\n%s' "$mark" "$(pwd -P)"
list "$@" | while IFS= read -r -d '' path; do show "$path"; done
