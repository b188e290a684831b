"""The programs that only read, with the options that keep them so. Data.

An option stands here only if it cannot write, run something, follow links out, wait for ever or
use the network. What needs a closer look than a list has its own function in ``closer_looks``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_ls.safety.flags import Options, options, words


@dataclass(frozen=True, slots=True)
class Program:
    """What one program may be called with."""

    options: Options
    operands: Literal["paths", "text", "pattern then paths", "names"] = "paths"
    """``names`` are plain words, no paths; a pattern is left out when an option gives it."""
    max_operands: int = 1_000
    pattern_options: tuple[str, ...] = ()
    recursive_options: tuple[str, ...] = ()
    """With one of these it reads whole folders; ``*``: it always does."""


def _program(
    specification: str = "",
    operands: Literal["paths", "text", "pattern then paths", "names"] = "paths",
    *,
    limit: int = 1_000,
    number: bool = False,
    pattern: str = "",
    recursive: str = "",
) -> Program:
    known = options(specification, takes_number=number)
    return Program(known, operands, limit, tuple(pattern.split()), tuple(recursive.split()))


_CHECKSUM = _program("-btz --binary --text --tag --zero")
_GREP = (
    "-nivwxlLcohHsqrEFGPabzZIyU --line-number --ignore-case --invert-match --word-regexp "
    "--line-regexp --files-with-matches --files-without-match --count --only-matching "
    "--no-filename --with-filename --no-messages --quiet --silent --recursive --extended-regexp "
    "--fixed-strings --basic-regexp --perl-regexp --text --byte-offset --null-data --null "
    "--no-ignore-case --line-buffered --initial-tab -T -e: --regexp: -m: --max-count: -A: "
    "--after-context: -B: --before-context: -C: --context: --include: --exclude: --exclude-dir: "
    "--color? --colour? --label: -f@ --file@ --exclude-from@ --binary-files:"
)
_RIPGREP = (
    "-nNiSswxlcovFUPHIapq0.u --line-number --no-line-number --ignore-case --smart-case "
    "--case-sensitive --word-regexp --line-regexp --files-with-matches --files-without-match "
    "--count --count-matches --only-matching --invert-match --fixed-strings --multiline "
    "--multiline-dotall --pcre2 --with-filename --no-filename --text --pretty --quiet --null "
    "--hidden --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent --unrestricted --files "
    "--type-list --json --stats --heading --no-heading --column --trim --vimgrep --no-messages "
    "--passthru --one-file-system --glob-case-insensitive --crlf --no-unicode "
    "--sort-files --block-buffered --line-buffered --byte-offset -b --debug -e: --regexp: -A: "
    "--after-context: -B: --before-context: -C: --context: -m: --max-count: -g: --glob: --iglob: "
    "-t: --type: -T: --type-not: -M: --max-columns: --max-depth: -d: --sort: --sortr: --color: "
    "-j: --threads: -r: --replace: --max-filesize: -E: --encoding: --engine: --context-separator: "
    "--colors: -f@ --file@ --ignore-file@"
)

PROGRAMS: dict[str, Program] = {
    # Folders and facts about files.
    "ls": _program(
        "-aAbBcCdfFgGhiklmnNopqQrRsStuUvxX1 --all --almost-all --author --escape --directory "
        "--classify? --color? --full-time --group-directories-first --no-group --human-readable "
        "--si --inode --kibibytes --numeric-uid-gid --literal --quote-name --reverse --recursive "
        "--size --zero --ignore: -I: --hide: --sort: --time: --time-style: --format: "
        "--indicator-style: --quoting-style: -w: --width: -T: --tabsize: --block-size:"
    ),
    "du": _program(
        "-shackmbx0lS --summarize --human-readable --all --total --bytes --apparent-size "
        "--one-file-system --null --si --count-links --separate-dirs -d: --max-depth: --exclude: "
        "-t: --threshold: -B: --block-size: --time? --time-style: --inodes"
    ),
    "stat": _program("-tf --terse --file-system -c: --format: --printf:"),
    "file": _program(
        "-biIkNrh0 --brief --mime --mime-type --mime-encoding --keep-going --no-pad --raw "
        "--no-dereference --print0 -F: --separator: --extension"
    ),
    "realpath": _program(
        "-emqszLP --canonicalize-existing --canonicalize-missing --quiet --strip --no-symlinks "
        "--zero --logical --physical --relative-to@ --relative-base@"
    ),
    "readlink": _program("-femnqsvz --canonicalize --no-newline --quiet --verbose --zero"),
    "basename": _program("-az --multiple --zero -s: --suffix:", "text"),
    "dirname": _program("-z --zero", "text"),
    "df": _program(
        "-ahHiklmPT --all --human-readable --si --inodes --local --portability --print-type "
        "--total -t: --type: -x: --exclude-type: -B: --block-size: --output?"
    ),
    # Content.
    "cat": _program(
        "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank "
        "--show-tabs --show-nonprinting"
    ),
    "tac": _program("-br --before --regex -s: --separator:"),
    "head": _program("-qvz --quiet --silent --verbose --zero-terminated -n: --lines: -c: --bytes:",
                     number=True),
    "tail": _program("-qvz --quiet --silent --verbose --zero-terminated -n: --lines: -c: --bytes:",
                     number=True),
    "nl": _program("-p -b: -d: -f: -h: -i: -l: -n: -s: -v: -w: --body-numbering: --number-format:"),
    "wc": _program("-clLmw --bytes --chars --lines --max-line-length --words --total:"),
    "cut": _program(
        "-snz --only-delimited --complement --zero-terminated -b: --bytes: -c: --characters: -d: "
        "--delimiter: -f: --fields: --output-delimiter:"
    ),
    "sort": _program(
        "-bdfghiMnRrVcCmsuz --ignore-leading-blanks --dictionary-order --ignore-case "
        "--general-numeric-sort --human-numeric-sort --ignore-nonprinting --month-sort "
        "--numeric-sort --random-sort --reverse --version-sort --check? --merge --stable --unique "
        "--zero-terminated --debug -k: --key: -t: --field-separator: --sort: --parallel:"
    ),
    # A second operand of uniq is written to.
    "uniq": _program(
        "-cdDiuz --count --repeated --all-repeated? --ignore-case --unique --zero-terminated "
        "--group? -f: --skip-fields: -s: --skip-chars: -w: --check-chars:",
        limit=1,
    ),
    "tr": _program("-cCdst --complement --delete --squeeze-repeats --truncate-set1", "text"),
    "rev": _program("-0"),
    "fold": _program("-bs --bytes --spaces -w: --width:"),
    "fmt": _program("-cstu --crown-margin --split-only --tagged-paragraph --uniform-spacing -w: "
                    "--width: -p: --prefix:", number=True),
    "expand": _program("-i --initial -t: --tabs:"),
    "unexpand": _program("-a --all --first-only -t: --tabs:"),
    "column": _program("-txeJ --table -s: --separator: -o: --output-separator: -c: -N: -R: -H:"),
    "paste": _program("-sz --serial --zero-terminated -d: --delimiters:"),
    "join": _program("-iz --ignore-case --header --check-order --nocheck-order -1: -2: -j: -t: -a: "
                     "-v: -o: -e:"),
    "comm": _program("-123z --check-order --nocheck-order --total --output-delimiter:"),
    "cmp": _program("-bls --print-bytes --verbose --quiet --silent -i: --ignore-initial: -n: "
                    "--bytes:"),
    "diff": _program(
        "-uqsNiwbBEZaypcterTdH --unified? --context? --brief --report-identical-files --new-file "
        "--ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines "
        "--ignore-tab-expansion --ignore-trailing-space --text --side-by-side --show-c-function "
        "--recursive --minimal --strip-trailing-cr --suppress-common-lines --left-column --normal "
        "--no-dereference --speed-large-files -U: -C: -W: --width: -x: --exclude: -I: "
        "--ignore-matching-lines: --label: -L: --color?",
        recursive="*",
    ),
    "md5sum": _CHECKSUM, "sha1sum": _CHECKSUM, "sha224sum": _CHECKSUM, "sha256sum": _CHECKSUM,
    "sha384sum": _CHECKSUM, "sha512sum": _CHECKSUM, "b2sum": _CHECKSUM, "cksum": _program(""),
    "sum": _program("-rs --sysv"),
    "base64": _program("-di --decode --ignore-garbage -w: --wrap:"),
    "base32": _program("-di --decode --ignore-garbage -w: --wrap:"),
    "od": _program("-abcdfiloxsv -A: --address-radix: -t: --format: -j: --skip-bytes: -N: "
                   "--read-bytes: -w? --width? -v --output-duplicates"),
    "hexdump": _program("-bcCdovx -n: -s:"),
    # Searching. rg reads folders by itself, grep when told to.
    "grep": _program(_GREP, "pattern then paths", number=True,
                     pattern="-e --regexp -f --file", recursive="-r --recursive"),
    "egrep": _program(_GREP, "pattern then paths", number=True,
                      pattern="-e --regexp -f --file", recursive="-r --recursive"),
    "fgrep": _program(_GREP, "pattern then paths", number=True,
                      pattern="-e --regexp -f --file", recursive="-r --recursive"),
    "rg": _program(_RIPGREP, "pattern then paths",
                   pattern="-e --regexp -f --file --files --type-list", recursive="*"),
    # The machine, its clock and its person; nothing of the environment.
    "true": _program("", "text"), "false": _program("", "text"), ":": _program("", "text"),
    "pwd": _program("-LP --logical --physical", limit=0),
    "seq": _program("-w --equal-width -s: --separator: -f: --format:", "text", number=True),
    "whoami": _program("", limit=0), "logname": _program("", limit=0),
    "id": _program("-ugGnrz --user --group --groups --name --real --zero", limit=0),
    "groups": _program("", limit=0),
    "uname": _program("-asnrvmpio --all --kernel-name --nodename --kernel-release --machine "
                      "--kernel-version --processor --operating-system", limit=0),
    "arch": _program("", limit=0), "nproc": _program("--all", limit=0),
    "hostname": _program("-s --short", limit=0), "tty": _program("-s", limit=0),
    "uptime": _program("-ps --pretty --since", limit=0),
    "free": _program("-bkmghtwl --bytes --kilo --mega --giga --human --total --wide --lohi",
                     limit=0),
    "lscpu": _program("-J --json", limit=0), "locale": _program("", limit=0),
    "which": _program("-as --all", "names"), "type": _program("-aftpP", "names"),
    "cal": _program("-13jmsy", "names", limit=2),
}  # fmt: skip

BUILTINS = words("echo true false : pwd type test [ [[ printf cd command set exit")
"""What the shell does itself, whatever stands on PATH."""

VERSIONED = words(
    "python python3 node git gcc g++ cc c++ clang clang++ make gmake cmake ninja rg jq bash perl "
    "ruby java javac go tar grep sed awk gawk find ls diff patch curl wget ruff uv gdb pandoc "
    "sqlite3 psql tmux zsh fish nvim vim npm pip pip3 docker tsc"
)
"""Asked for their version and nothing else, these do nothing else."""
