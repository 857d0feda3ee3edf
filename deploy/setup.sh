#!/usr/bin/env bash
# Makes what Fettle needs in this checkout: system programs, .venv, hash-locked packages, `fettle`.
#
#   deploy/setup.sh [runtime|extras|dev]
#
# `extras` brings what traces and MCP servers take besides; a later `runtime` takes nothing away.
# Doing it again when nothing changed takes a tenth of a second. Exits 2 when a person must act,
# after saying how. What it tells goes to standard error.
set -euo pipefail

readonly ENVIRONMENT=.venv
readonly PYTHON=$ENVIRONMENT/bin/python
readonly STAMP=$ENVIRONMENT/fettle-setup
readonly SYSTEM_PYTHON=/usr/bin/python3
readonly TOOLS_LOCK=deploy/requirements-setup.lock
readonly REFEREES=tests/referees
readonly PROMTOOL=.cache/promtool

main() {
    local profile=${1:-runtime}
    [[ $profile =~ ^(runtime|extras|dev)$ ]] || stop "usage: deploy/setup.sh [runtime|extras|dev]"
    cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
    exec >&2
    is_done "$profile" && return
    wait_for_other_setup
    is_done "$profile" && return
    holds "$(stamped_profile)" "$profile" && profile=$(stamped_profile) # nothing is taken away
    install_system_packages
    make_environment
    install_packages "$profile"
    [[ $profile != dev ]] || install_referees
    [[ $profile != dev ]] || install_promtool
    [[ $profile != dev ]] || install_browser
    echo "$profile $(fingerprint)" >$STAMP
    say "ready ($profile)"
}

say() { echo "setup: $*" >&2; }

stop() {
    say "$*"
    exit 2
}

# --- what is there already ----------------------------------------------------------------------

is_done() {
    [[ -f $STAMP && -z $(missing_packages) ]] || return 1
    local profile known
    read -r profile known <$STAMP
    holds "$profile" "$1" && [[ $known == "$(fingerprint)" ]]
}

# Whether an environment of the first profile has all that the second one wants.
holds() { [[ $1 == "$2" || $1 == dev || ($1 == extras && $2 == runtime) ]]; }

stamped_profile() { [[ ! -f $STAMP ]] || cut -d' ' -f1 $STAMP; }

# A hash of everything that decides what the environment holds, and of where it stands.
fingerprint() {
    {
        pwd
        $PYTHON -VV
        cat pyproject.toml requirements.lock requirements-extras.lock requirements-dev.lock $TOOLS_LOCK deploy/setup.sh
        [[ ! -f $REFEREES/package-lock.json ]] || cat $REFEREES/package-lock.json
    } 2>&1 | sha256sum | cut -d' ' -f1
}

# Only one set-up at a time in one checkout; other checkouts have a lock of their own.
wait_for_other_setup() {
    mkdir -p .cache
    exec 9>.cache/setup.lock
    flock --nonblock 9 && return
    say "another set-up is at work in this checkout, waiting"
    flock 9
}

# --- system packages ----------------------------------------------------------------------------

# Names the Debian packages whose programs are not there. Sandboxes run /usr/bin/python3.
missing_packages() {
    command -v git >/dev/null || echo git
    command -v bwrap >/dev/null || echo bubblewrap
    command -v rg >/dev/null || echo ripgrep
    [[ -x /usr/bin/python3 ]] || echo python3
}

install_system_packages() {
    local -a packages
    mapfile -t packages < <(
        missing_packages
        is_sound_environment || missing_venv_package
    )
    [[ ${#packages[@]} -eq 0 ]] || apt_install "${packages[@]}"
}

# Debian and Ubuntu keep what `python -m venv` needs in a package of its own.
missing_venv_package() {
    local python
    if ! python=$(find_python); then
        [[ -x /usr/bin/python3 ]] || echo python3-venv
        return 0
    fi
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        "$python" -c 'import sys; print("python3.%d-venv" % sys.version_info[1])'
}

apt_install() {
    local remedy="apt-get update && apt-get install -y $*"
    local -a as_root=(env DEBIAN_FRONTEND=noninteractive)
    command -v apt-get >/dev/null || stop "please install what these packages hold: $*"
    if [[ $(id -u) -ne 0 ]]; then
        sudo -n true 2>/dev/null || stop "as root, please run: $remedy"
        as_root=(sudo -n "${as_root[@]}")
    fi
    say "installing $*"
    local log=.cache/apt.log
    "${as_root[@]}" apt-get update >$log 2>&1 || say "apt-get update failed, trying all the same"
    "${as_root[@]}" apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 "$@" \
        </dev/null >>$log 2>&1 || {
        tail -n 20 $log
        stop "as root, please run: $remedy"
    }
}

# --- the environment ----------------------------------------------------------------------------

make_environment() {
    is_sound_environment && return
    local python
    python=$(find_python) || stop "Python 3.11 or later is needed; as root, please run:" \
        "apt-get update && apt-get install -y python3 python3-venv"
    [[ ! -e $ENVIRONMENT ]] || say "$ENVIRONMENT cannot be used, making it anew"
    say "making $ENVIRONMENT with $("$python" -V) ($python)"
    "$python" -m venv --clear --prompt fettle $ENVIRONMENT ||
        stop "please run: apt-get install -y python3-venv"
}

# It works, is new enough, has pip, and was not moved here from another folder.
is_sound_environment() {
    $PYTHON -c 'import sys, pip; assert sys.version_info >= (3, 11)' 2>/dev/null &&
        grep -qF -- "$PWD/$ENVIRONMENT" $ENVIRONMENT/bin/activate
}

# Prefers a Python whose SQLite the engine can use as it is: any with 3.11, 3.42 with later ones.
# The system's own comes first where it is complete: it is kept up to date, and mostly a tenth
# faster than what a version manager compiled.
find_python() {
    local suits='import sqlite3, sys
new_enough = sys.version_info >= (3, 11)
ready = sys.version_info < (3, 12) or sqlite3.sqlite_version_info >= (3, 42)
sys.exit(not (new_enough and (ready or sys.argv[1] == "any")))'
    local wanted name
    "$SYSTEM_PYTHON" -c "import ensurepip, venv; $suits" ready 2>/dev/null &&
        echo "$SYSTEM_PYTHON" && return
    for wanted in ready any; do
        for name in python3 python3.{14,13,12,11}; do
            "$name" -c "$suits" $wanted 2>/dev/null && command -v "$name" && return
        done
    done
    return 1
}

# --- packages -----------------------------------------------------------------------------------

install_packages() {
    local lock=requirements-$1.lock
    [[ $1 != runtime ]] || lock=requirements.lock
    say "installing $lock"
    $PYTHON -m pip install --quiet --disable-pip-version-check --require-hashes -r $TOOLS_LOCK
    uv pip sync --quiet --require-hashes --python $PYTHON $lock $TOOLS_LOCK
    uv pip install --quiet --offline --no-deps --no-build-isolation --python $PYTHON --editable .
}

uv() { $PYTHON deploy/uv_like_pip.py "$@"; }

# The packages that judge our GitHub and our model from outside; tests say so where npm is absent.
install_referees() {
    [[ -f $REFEREES/package-lock.json ]] && command -v npm >/dev/null || return 0
    say "installing $REFEREES"
    npm ci --prefix $REFEREES --ignore-scripts --no-audit --no-fund --loglevel=error
}

# Takes the checker of Prometheus' rules out of Debian's package, and leaves the server in it.
# Where it cannot be had, the test that asks it says so and is left out.
install_promtool() {
    { command -v promtool || command -v "$PWD/$PROMTOOL"; } >/dev/null && return
    command -v dpkg-deb >/dev/null || return 0
    say "fetching promtool"
    local folder
    folder=$(mktemp -d)
    if download_debian_package prometheus "$folder" && dpkg-deb -x "$folder"/*.deb "$folder"; then
        install "$folder/usr/bin/promtool" $PROMTOOL
    else
        say "no promtool to be had"
    fi
    rm -rf "$folder"
}

# A real browser looks at the pages in tests, which say so where there is none.
install_browser() {
    command -v chromium >/dev/null && return
    command -v apt-get >/dev/null || return 0
    (apt_install chromium) || say "no browser to be had"
}

# The list of packages may be missing, or older than what the mirror has.
download_debian_package() {
    local -a download=(apt-get download -o APT::Sandbox::User=root "$1")
    (cd "$2" && "${download[@]}") >>.cache/apt.log 2>&1 && return
    apt-get update >>.cache/apt.log 2>&1
    (cd "$2" && "${download[@]}") >>.cache/apt.log 2>&1
}

main "$@"
