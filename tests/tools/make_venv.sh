#!/usr/bin/env bash
# Make a virtual environment, or keep the one that fits: make_venv.sh DIRECTORY REQUIREMENTS
#
# The stamp inside it says for which place, Python and requirements it was made. It is written last, so an
# environment whose making was interrupted is made again. PYTHON names the Python to use instead of the search.
set -euo pipefail

directory=$1
requirements=$2
candidates=${PYTHON:-python3.12 python3.13 python3.11 python3}

say() { echo "setup: $*"; }

# True for a Python that really runs (a pyenv shim may not), is new enough, and can make an environment with pip.
usable() { "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    local candidate
    for candidate in $candidates; do
        if usable "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# Debian and Ubuntu keep venv and ensurepip in a package of their own.
install_python() {
    [ -z "${PYTHON:-}" ] && [ "$(id -u)" -eq 0 ] && [ -e /etc/debian_version ] || return 1
    say "no usable Python: installing the package python3-venv"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv
}

stamp="$(cd "$(dirname "$directory")" && pwd)/$(basename "$directory") ${PYTHON:-any} $(cksum <"$requirements")"
if [ "$(cat "$directory/.complete" 2>/dev/null)" = "$stamp" ] && "$directory/bin/python" -c '' 2>/dev/null; then
    exit 0
fi

if ! python=$(find_python); then
    if ! { install_python >&2 && python=$(find_python); }; then
        cat >&2 <<EOF
setup: no usable Python: found none, wanted Python 3.11 or newer with venv and ensurepip. Tried: $candidates.
  Debian 12, Ubuntu 24.04 and newer:  apt-get install python3-venv
  Ubuntu 22.04:                       apt-get install python3.11-venv
  Fedora, RHEL and their kin:         dnf install python3.12
  or name one that you have:          make PYTHON=/path/to/python3.12 ...
EOF
        exit 1
    fi
fi

say "$directory: $("$python" --version) ($python) with $requirements"
rm -rf "$directory"
"$python" -m venv "$directory"
"$directory/bin/python" -m pip install -qq --disable-pip-version-check --requirement "$requirements"
echo "$stamp" >"$directory/.complete"
