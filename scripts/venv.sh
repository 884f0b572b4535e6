# Sourced by the scripts here: makes .venv at the project's root and installs dgltree into it, editable.
#   install EXTRAS   ("" for the library alone)
# Installs again only when setup.cfg, pyproject.toml or constraints.txt changed. A torch that the machine's Python or .venv already has is used.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
python=${PYTHON:-python3}

stop() {
    echo "$*" >&2
    exit 1
}

free() { # megabytes that are free in a folder
    df -Pk "$1" | awk 'NR == 2 { print int($4 / 1024) " MB" }'
}

version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

torch_of() { # the version of a torch that is new enough, without its build, or nothing
    "$1" - <<'PY' 2>/dev/null || true
import importlib.metadata as m
version = m.version("torch").split("+")[0]
print(version if tuple(map(int, version.split(".")[:2])) >= (2, 10) else "")
PY
}

check_python() {
    command -v "$python" >/dev/null || stop "There is no $python. dgltree needs Python 3.11 or newer: set PYTHON to one, such as PYTHON=python3.12 $0"
    is_new_enough "$python" ||
        stop "dgltree needs Python 3.11 or newer; $python is ${version:=$(version_of "$python" || echo "one that does not start")}. Set PYTHON to another one, such as PYTHON=python3.12 $0"
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        stop "$python cannot make environments, because its venv module is missing or incomplete: install it (on Debian and Ubuntu the package python3-venv), or set PYTHON to another Python"
}

check_environment() { # one that an earlier run or the user made
    local version
    version=$(version_of .venv/bin/python) ||
        stop ".venv/bin/python does not start; perhaps its Python was removed. Delete the environment (rm -r .venv) and run $0 again"
    is_new_enough .venv/bin/python ||
        stop ".venv is for Python $version; dgltree needs 3.11 or newer. Delete the environment (rm -r .venv) and run $0 again"
    [ -z "${PYTHON:-}" ] || [ "$(version_of "$python")" = "$version" ] ||
        stop ".venv is for Python $version, but PYTHON is ${PYTHON}. Delete the environment (rm -r .venv) or unset PYTHON"
}

make_environment() {
    local options=()
    if [ -e .venv/bin/python ] || [ -L .venv/bin/python ]; then
        check_environment
        .venv/bin/python -m pip --version >/dev/null 2>&1 && return
        [ "$(version_of "$python")" = "$(version_of .venv/bin/python)" ] ||
            stop ".venv is half made, and not by $python. Delete it (rm -r .venv) and run $0 again"
    fi
    check_python
    [ -z "$(torch_of "$python")" ] || options=(--system-site-packages)
    echo "Making .venv with $("$python" -V) ..."
    "$python" -m venv "${options[@]}" .venv ||
        stop ".venv could not be made; the message is above, and $(free .) are free here. Once the cause is removed, run $0 again"
}

say_what_cuda_takes() { # for Linux on x86-64, the package index has only builds of torch with CUDA
    [ "$(uname -sm)" = "Linux x86_64" ] || return 0
    .venv/bin/python -m pip index versions torch 2>/dev/null | grep -q "$(grep '^torch==' constraints.txt | cut -d= -f3)+cpu" && return
    echo "pip will download torch with its CUDA libraries: 2.7 GB, and 5 GB in .venv. If this machine has no GPU, interrupt now"
    echo "(Ctrl-C), install the CPU build of torch, 0.2 GB, by .venv/bin/pip (docs/install.md), and run this again."
}

is_installed() { # whether these extras are, maybe with others, by the present files: is_installed EXTRAS CHECKSUM
    local stamp extra
    for stamp in .venv/.installed-*-"$2"; do
        [ -e "$stamp" ] || continue
        for extra in ${1//,/ }; do [[ $stamp == *-"$extra"-* ]] || continue 2; done
        return 0
    done
    return 1
}

install() {
    local extras=$1 sum torch pins=constraints.txt
    sum=$({ cat setup.cfg pyproject.toml constraints.txt && echo "$root"; } | cksum | cut -d' ' -f1)
    is_installed "$extras" "$sum" && check_environment && return
    [ -w . ] || stop "$root cannot be written, but .venv is made there: clone the repository to a folder of your own"
    make_environment
    torch=$(torch_of .venv/bin/python)
    if [ -z "$torch" ]; then
        say_what_cuda_takes
    elif ! grep -qx "torch==$torch" constraints.txt; then
        echo "Using torch $torch, which is installed."
        pins=.venv/constraints.txt
        grep -v '^torch==' constraints.txt >"$pins"
    fi
    echo "Installing dgltree${extras:+ with $extras} (a minute or two, once) ..."
    # A plain path, not a finder: with that, a program beside the clone would import the clone's folder as dgltree.
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat --constraint "$pins" --editable ".${extras:+[$extras]}" ||
        stop "pip could not install dgltree; its message is above. Once the cause is removed (a connection or proxy; a full disk: $(free .) are free here, $(free "${TMPDIR:-/tmp}") in ${TMPDIR:-/tmp}; permissions), run $0 again: it goes on. If it fails again, delete the environment (rm -r .venv)"
    touch ".venv/.installed-${extras//,/-}-$sum"
}
