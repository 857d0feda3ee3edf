# Start the servers that a command's tests need, on loopback, run the command, end the servers:
#
#   bash -c TEXT services COUNT (kind port user password database)... COMMAND...
#
# No value is ever a part of the text. Ends with UNAVAILABLE, after one line with MARK, when a server
# does not start; else with the command's own exit code.
readonly UNAVAILABLE=97 MARK='[service unavailable]'
readonly PATIENCE=60 # seconds for a server to answer
umask 077
root=${TMPDIR:-/tmp}/services
rm -rf "$root"
mkdir -p "$root" || exit $UNAVAILABLE
readonly given=$PATH
PATH=$PATH:/usr/sbin:/sbin
servers=()

unavailable() {
    local text=${2:-}
    [[ ! -s $root/log ]] || text+=" It said: $(tail -c 300 "$root/log" | tr '\n' ' ')"
    echo "$MARK $1: $text"
    end_servers
    exit $UNAVAILABLE
}

end_servers() {
    exec 2>/dev/null # else the shell tells of every server that is killed
    ((${#servers[@]} == 0)) || kill -KILL "${servers[@]}"
    wait
    rm -rf "$root"
}

# A server in the background, with no hold on the command's input and output.
serve() {
    "$@" </dev/null >>"$root/log" 2>&1 &
    servers+=($!)
}

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Waits until a command succeeds; gives up when the server is gone or its time is up.
wait_for() {
    local kind=$1 until=$((SECONDS + PATIENCE))
    shift
    until "$@" >/dev/null 2>&1; do
        kill -0 "${servers[-1]}" 2>/dev/null || unavailable "$kind" "the server ended."
        ((SECONDS < until)) || unavailable "$kind" "it gave no answer for $PATIENCE s."
        sleep 0.05
    done
}

start_postgres() {
    local port=$1 user=$2 password=$3 database=$4 bin data=$root/postgres-$1 access=trust
    # Debian keeps the programs of each version in a folder of its own, out of PATH.
    bin=$(find /usr/lib/postgresql -maxdepth 3 -name initdb 2>/dev/null | sort -V | tail -1)
    bin=$(dirname "$(readlink -f "${bin:-$(command -v initdb)}")")
    [[ $bin == /* && -x $bin/postgres && -x $bin/pg_isready && -x $bin/createdb ]] || unavailable postgres "missing program"
    [[ -z $password ]] || access=scram-sha-256
    printf '%s' "${password:-unused}" >"$root/password"
    "$bin/initdb" -D "$data" --username="$user" --pwfile="$root/password" --auth-local=trust \
        --auth-host="$access" --no-sync --encoding=UTF8 --locale=C >"$root/log" 2>&1 ||
        unavailable postgres "its data folder could not be made."
    serve "$bin/postgres" -D "$data" -c listen_addresses=127.0.0.1 -c "port=$port" \
        -c "unix_socket_directories=$data" -c fsync=off -c full_page_writes=off
    wait_for postgres "$bin/pg_isready" -q -h "$data" -p "$port"
    [[ $database == postgres ]] ||
        "$bin/createdb" -h "$data" -p "$port" -U "$user" -- "$database" >>"$root/log" 2>&1 ||
        unavailable postgres "its database could not be made."
}

start_redis() {
    local port=$1 password=$3 program
    program=$(command -v redis-server || command -v valkey-server) || unavailable redis "missing program"
    serve "$program" --bind 127.0.0.1 --port "$port" --save "" --appendonly no --dir "$root" \
        ${password:+--requirepass "$password"}
    wait_for redis answers "$port"
}

start_mysql() {
    local port=$1 user=$2 password=$3 database=$4 program data=$root/mysql-$1 first=$root/first.sql
    program=$(command -v mariadbd || command -v mysqld) || unavailable mysql "missing program"
    if [[ $program == */mariadbd ]]; then
        mariadb-install-db --no-defaults --datadir="$data" --auth-root-authentication-method=normal \
            --skip-test-db >"$root/log" 2>&1
    else
        "$program" --no-defaults --initialize-insecure --datadir="$data" >"$root/log" 2>&1
    fi || unavailable mysql "its data folder could not be made."
    # Names and passwords have neither quotes nor backslashes (services.py).
    for at in localhost 127.0.0.1 %; do
        echo "CREATE USER IF NOT EXISTS '$user'@'$at';"
        echo "ALTER USER '$user'@'$at' IDENTIFIED BY '$password';"
        echo "GRANT ALL PRIVILEGES ON *.* TO '$user'@'$at' WITH GRANT OPTION;"
    done >"$first"
    [[ -z $database ]] || echo "CREATE DATABASE IF NOT EXISTS \`$database\`;" >>"$first"
    serve "$program" --no-defaults --datadir="$data" --bind-address=127.0.0.1 --port="$port" \
        --socket="$data/socket" --pid-file="$data/pid" --init-file="$first"
    # Told whether it may come in or not, it is ready.
    wait_for mysql "$(command -v mariadb-admin || command -v mysqladmin)" --no-defaults \
        --protocol=tcp --host=127.0.0.1 --port="$port" --connect-timeout=5 ping
}

count=$1
shift
for ((n = 0; n < count; n++)); do
    : >"$root/log"
    case $1 in
        postgres | redis | mysql) "start_$1" "$2" "$3" "$4" "$5" ;;
        *) unavailable "$1" "unknown" ;;
    esac
    shift 5
done
rm -f "$root/password" "$root/first.sql"
(umask 022 && PATH=$given && exec "$@")
code=$?
end_servers
exit $code
