// What pip, uv and venv say when an installation fails, and what a user does about it.
//
// Their words are data: a row for each cause that people report.
import { t } from "./l10n";

/** An installation that failed, and what to do next. */
export class InstallError extends Error {
  constructor(
    problem: string,
    readonly advice: string,
  ) {
    super(problem);
    this.name = "InstallError";
  }
}

interface Cause {
  /** In what was said. */
  words: RegExp;
  problem: string;
  /** `$1` is the first group of the words. */
  advice: string;
}

/** The first row that fits counts. */
function causes(): readonly Cause[] {
  return [
    {
      words: /No space left on device|os error 28/,
      problem: t("The disk is full."),
      advice: t("Free about 500 MB, then try again."),
    },
    {
      // Debian and Ubuntu: "On Debian/Ubuntu systems, you need to install the python3-venv package".
      words:
        /(?:ensurepip|No module named '?venv)(?:[\s\S]*?apt(?:-get)? install (python3[\w.]*-venv))?/,
      problem: t("This Python cannot make environments: its package venv is missing."),
      advice: t("Run `sudo apt install $1` in a terminal, or install uv. Then try again."),
    },
    {
      // uv: "invalid peer certificate: UnknownIssuer"; pip: "CERTIFICATE_VERIFY_FAILED".
      words: /invalid peer certificate|CERTIFICATE_VERIFY_FAILED|UnknownIssuer/,
      problem: t("The package index shows a certificate that is not trusted here."),
      advice: t(
        "A company's proxy does that. Set SSL_CERT_FILE (uv) or PIP_CERT (pip) to its certificate file, restart the editor, then try again.",
      ),
    },
    {
      words:
        /\b(?:ProxyError|Tunnel connection failed|proxy authentication)\b|\b407 (?:Proxy|Client)|client error \(407/i,
      problem: t("The proxy refused the connection."),
      advice: t(
        "Correct HTTPS_PROXY in the environment, or the editor's setting `http.proxy`, then try again.",
      ),
    },
    {
      words:
        /\b(?:401|403) (?:Client Error|Error|Unauthorized|Forbidden)|HTTP error 40[13] while|HTTP status client error \(40[13]/i,
      problem: t("The package index refused the connection."),
      advice: t(
        "Check the user and password of your index in pip.conf or uv.toml, then try again.",
      ),
    },
    {
      words:
        /name resolution|dns error|nodename nor servname|Network is unreachable|Failed to establish a new connection|Connection refused|ConnectTimeout|timed out|client error \(Connect\)|Could not connect|offline/i,
      problem: t("The package index could not be reached."),
      advice: t(
        "Check the network. Behind a proxy, set HTTPS_PROXY in the environment or the editor's setting `http.proxy`. Then try again.",
      ),
    },
    {
      // uv: "No interpreter found for Python >=3.11 in managed installations or search path".
      words: /No interpreter found for|No Python found|python downloads are (?:disabled|not)/i,
      problem: t("There is no Python 3.11 or newer here."),
      advice: t("Install one, for example with `uv python install 3.12`. Then try again."),
    },
    {
      words: /requires a different Python|Requires-Python|does not satisfy Python|requires-python/i,
      problem: t("This Python does not fit the agent server."),
      advice: t("Install Python 3.11 or newer, or uv, which brings its own. Then try again."),
    },
    {
      words: /Cannot find command 'git'|Git executable not found|git: command not found/i,
      problem: t("git is needed for this address, and is not installed."),
      advice: t(
        "Install git, or give the path of a clone in `agent-ls.installFrom`. Then try again.",
      ),
    },
    {
      words:
        /No matching distribution found|was not found in the package registry|No solution found|not found in the provided package locations/,
      problem: t("Your package index does not have what is to be installed."),
      advice: t(
        "Set `agent-ls.installFrom` to the path of a clone or a wheel, or to the address of a git repository. Then try again.",
      ),
    },
    {
      words:
        /does not appear to be a Python project|neither 'setup\.py' nor|Distribution not found at|is not a valid wheel|looks like a filename, but the file does not exist|Invalid requirement/i,
      problem: t("There is nothing to install at the place that `agent-ls.installFrom` names."),
      advice: t("Correct the setting: the path of a clone or a wheel, or a git address."),
    },
    {
      words: /Authentication failed|could not read Username|Permission denied \(publickey\)/,
      problem: t("The git repository refused the connection."),
      advice: t("Check that `git clone` works with this address in a terminal, then try again."),
    },
    {
      words:
        /command '?(?:gcc|cc|clang|x86_64[\w-]*)'? failed|Failed (?:to build|building)|rustc|cargo/,
      problem: t("A package had to be built here, and that failed."),
      advice: t("Install Python 3.11 to 3.13, for which packages are ready-made. Then try again."),
    },
    {
      words: /Permission denied|EACCES|os error 13/,
      problem: t("A file could not be written."),
      advice: t("Check who owns the editor's folder for extensions, then try again."),
    },
  ];
}

/** What to tell the user of a step that ended so, after it had said these lines. */
export function explain(lines: readonly string[], code: number | null): InstallError {
  const said = lines.join("\n");
  for (const { words, problem, advice } of causes()) {
    const match = words.exec(said);
    if (match) return new InstallError(problem, advice.replace("$1", match[1] ?? "python3-venv"));
  }
  const spoken = lines.filter((line) => line.trim());
  const last = spoken.findLast((line) => /error/i.test(line)) ?? spoken.at(-1);
  return new InstallError(
    t("The installation failed: {0}", last?.trim() ?? t("exit code {0}", String(code))),
    t("The lines below say more. Or install agent-ls yourself, and pick its interpreter."),
  );
}
