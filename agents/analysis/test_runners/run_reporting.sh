# Runs a check's command so that its runner of tests writes a report for programs, where it can.
#
# supported: a command that succeeds where that runner can be told so; output: the report's name
# where it is what the runner writes; reporter, program: a program for it, and its name. Then, each
# behind their number, variables for all runs and for reports; the numbers of arguments that come
# first and of those for reports; the arguments; and last the command, with "$@" where they go.
at=$PWD/.git/fettle supported=$1 output=$2 reporter=$3 program=$4
shift 4
rm -rf "$at"
reporting=false
if mkdir -p "$at" && : >"$at/began" && bash -c "$supported" >/dev/null 2>&1; then reporting=true; fi

give() { # a variable, behind what it holds already
    local name=${1%%=*}
    export "$name=${!name:+${!name} }${1#*=}"
}

for wanted in true "$reporting"; do
    count=$1
    shift
    for (( ; count > 0; count--)); do
        if "$wanted"; then give "${1//@REPORTS@/$at}"; fi
        shift
    done
done
first=$1 asked=$2
shift 2
command=${!#}
arguments=("${@:1:first}")
if "$reporting"; then
    arguments+=("${@:first + 1:asked}")
    if [ -n "$reporter" ]; then printf '%s' "$program" >"$at/$reporter"; fi
    if [ -n "$output" ]; then exec >"$at/$output"; fi
fi
arguments+=("${@:first + asked + 1:$# - first - asked - 1}")
exec bash -c "$command" check "${arguments[@]//@REPORTS@/$at}"
