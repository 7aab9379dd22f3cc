#!/usr/bin/env bash
# Run ansible-test sanity on a copy of the checkout: sanity.sh VENV VENV-WITH-SHELLCHECK [ARGUMENT...]
#
# The first environment has ansible-core and nothing that changes how ansible-test works; the second is where shellcheck is.
# ansible-test wants a real folder ansible_collections/NAMESPACE/NAME, and only what belongs to the collection in it:
# the files that git tracks or would track.
set -euo pipefail

venv=$(cd "$1" && pwd)
tools=$(cd "$2" && pwd)
shift 2
copy=$PWD/.cache/sanity/ansible_collections/rlops/verl

rm -rf "$copy"
mkdir -p "$copy"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    if [ -e "$file" ] || [ -L "$file" ]; then printf '%s\0' "$file"; fi
done | tar --create --null --files-from=- --file=- | tar --extract --directory="$copy" --file=-
# Otherwise the checkout around the copy would count as its repository, in which the copy is ignored as a whole. A git hook
# that runs this has the checkout's repository in its environment.
for variable in $(git rev-parse --local-env-vars); do unset "$variable"; done
git init --quiet "$copy"

# ansible-test puts pip into its environments by a script that it downloads. Where that script is not there yet, the pip
# that comes with Python does as well, and then nothing but the package index is needed. Other projects of this user share
# the place, so nothing is left there.
pip_version=$(sed -n "s/^ *pip='\([0-9.]*\)',$/\1/p" "$venv"/lib/python3*/site-packages/ansible_test/_internal/python_requirements.py)
get_pip=~/.ansible/test/cache/get_pip_${pip_version//./_}.py
if [ ! -e "$get_pip" ]; then
    mkdir -p "$(dirname "$get_pip")"
    trap 'rm -f "$get_pip"' EXIT
    printf 'import ensurepip\nensurepip.bootstrap(default_pip=True)\n' >"$get_pip"
fi

python_version=$("$venv/bin/python" -c 'import sys; print("{}.{}".format(*sys.version_info))')
color=no
if [ -t 1 ]; then color=yes; fi
cd "$copy"
PATH="$venv/bin:$tools/bin:$PATH" ansible-test sanity --python "$python_version" --color "$color" "$@" 2>&1 |
    tee ../output.log
if grep -q 'All targets skipped' ../output.log; then
    echo "sanity: found no file to test, wanted the collection's" >&2
    exit 1
fi
