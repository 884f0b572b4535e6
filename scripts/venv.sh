# Sourced by the scripts here: makes .venv at the project's root and installs dgltree into it, editable.
#   install EXTRAS   ("" for the library alone)
# Installs again only when setup.cfg or constraints.txt changed. A torch that the machine's Python already has is used.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
python=${PYTHON:-python3}

has_torch() {
    "$python" - <<'PY' 2>/dev/null
import importlib.metadata as m
raise SystemExit(tuple(map(int, m.version("torch").split("+")[0].split(".")[:2])) < (2, 10))
PY
}

install() {
    local extras=$1 stamp pins=constraints.txt options=()
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        echo "dgltree needs Python 3.11 or newer; $python is $("$python" -V 2>&1). Set PYTHON to another one." >&2
        exit 1
    }
    stamp=.venv/.installed-$(echo "$extras" | tr ',' '-')-$(cat setup.cfg pyproject.toml constraints.txt | cksum | cut -d' ' -f1)
    [ -e "$stamp" ] && return
    if has_torch; then
        echo "Using the torch that $python has."
        options=(--system-site-packages)
    fi
    echo "Making .venv with $("$python" -V) and installing dgltree${extras:+ with $extras} (a minute or two, once) ..."
    [ -x .venv/bin/python ] || "$python" -m venv "${options[@]}" .venv
    if [ ${#options[@]} -gt 0 ]; then
        pins=.venv/constraints.txt
        grep -v '^torch==' constraints.txt >"$pins"
    fi
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint "$pins" --editable ".${extras:+[$extras]}"
    touch "$stamp"
}
