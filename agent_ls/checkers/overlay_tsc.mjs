// Type-checks TypeScript projects as if some files had other texts, and writes nothing.
//
// One JSON request on standard input, one JSON answer on standard output:
//   {typescript, root, files, texts}  →  {findings, unconfigured}
// `typescript` is the package's folder (5 or 6), `texts` maps absolute paths to texts (null: the
// file is gone), `files` are the changed ones. Every project that includes one of them is checked,
// and every project that refers to such a project. `unconfigured` are those no project includes.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";

const request = JSON.parse(readFileSync(0, "utf8"));
const ts = createRequire(join(request.typescript, "package.json"))(request.typescript);
const isCaseSensitive = ts.sys.useCaseSensitiveFileNames;
const key = (path) => (isCaseSensitive ? resolve(path) : resolve(path).toLowerCase());

const configurationNames = ["tsconfig.json", "jsconfig.json"];
const isConfiguration = (path) => /^[jt]sconfig.*\.json$/.test(basename(path));

const texts = new Map();
const filesIn = new Map(); // folder → names of files that the overlay has
const foldersIn = new Map(); // folder → names of folders that it has
for (const [path, text] of Object.entries(request.texts)) {
    texts.set(key(path), text);
    if (text !== null) addParents(path);
}

function addParents(path) {
    add(filesIn, dirname(path), basename(path));
    for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
        add(foldersIn, dirname(folder), basename(folder));
    }
}

function add(map, folder, name) {
    const names = map.get(key(folder)) ?? new Set();
    map.set(key(folder), names.add(name));
}

const sys = {
    ...ts.sys,
    writeFile() {},
    createDirectory() {},
    deleteFile() {},
    fileExists(path) {
        const text = texts.get(key(path));
        return text === undefined ? ts.sys.fileExists(path) : text !== null;
    },
    readFile(path, encoding) {
        const text = texts.get(key(path));
        return text === undefined ? ts.sys.readFile(path, encoding) : (text ?? undefined);
    },
    directoryExists(path) {
        return filesIn.has(key(path)) || foldersIn.has(key(path)) || ts.sys.directoryExists(path);
    },
    getDirectories(path) {
        return [...new Set([...ts.sys.getDirectories(path), ...(foldersIn.get(key(path)) ?? [])])];
    },
    readDirectory(path, extensions, excludes, includes, depth) {
        const current = ts.sys.getCurrentDirectory();
        return ts.matchFiles(path, extensions, excludes, includes, isCaseSensitive, current, depth, entries, (real) =>
            ts.sys.realpath(real),
        );
    },
};

/** What a folder holds, the overlay included. */
function entries(path) {
    const folder = path || ".";
    const files = new Set(filesIn.get(key(folder)));
    const directories = new Set(foldersIn.get(key(folder)));
    for (const entry of list(folder)) {
        const text = texts.get(key(join(folder, entry.name)));
        if (text === null) continue;
        const kind = entry.isSymbolicLink() ? follow(join(folder, entry.name)) : entry;
        if (kind?.isFile()) files.add(entry.name);
        if (kind?.isDirectory()) directories.add(entry.name);
    }
    return { files: [...files].sort(), directories: [...directories].sort() };
}

function list(folder) {
    try {
        return readdirSync(folder, { withFileTypes: true });
    } catch {
        return [];
    }
}

function follow(path) {
    try {
        return statSync(path);
    } catch {
        return undefined;
    }
}

/** A project's configuration as TypeScript reads it: {path, options, fileNames, references, errors}. */
const projects = new Map();
function project(path) {
    if (!projects.has(path)) {
        const fatal = [];
        const host = { ...sys, onUnRecoverableConfigFileDiagnostic: (problem) => fatal.push(problem) };
        const parsed = ts.getParsedCommandLineOfConfigFile(path, {}, host);
        const references = (parsed?.projectReferences ?? []).map((one) => ts.resolveProjectReferencePath(one));
        projects.set(path, {
            path,
            parsed,
            references: references.filter((one) => sys.fileExists(one)),
            files: new Set((parsed?.fileNames ?? []).map(key)),
            errors: [...fatal, ...(parsed?.errors ?? [])],
        });
    }
    return projects.get(path);
}

/** The project and all that it refers to, directly or not. */
function reachable(path, found = new Set()) {
    if (!found.has(path)) {
        found.add(path);
        project(path).references.forEach((one) => reachable(one, found));
    }
    return found;
}

/** The configurations above a file, nearest first, up to the workspace's root. */
function configurationsAbove(path) {
    const found = [];
    for (let folder = dirname(path); ; folder = dirname(folder)) {
        const here = configurationNames.map((name) => join(folder, name)).find(sys.fileExists);
        if (here) found.push(here);
        if (key(folder) === key(request.root) || folder === dirname(folder)) return found;
    }
}

/** Whether somebody checks a configuration, and does not only extend it. */
function isProject(path) {
    const isNamedSo = configurationNames.includes(basename(path));
    return isNamedSo || configurationsAbove(path).some((one) => reachable(one).has(path));
}

/** The projects below a configuration that take its options over. */
function extending(path) {
    return sys
        .readDirectory(dirname(path), [".json"], ["**/node_modules"], ["**/*"])
        .filter((one) => isConfiguration(one) && key(one) !== key(path) && isProject(one))
        .filter((one) => extended(one).some((name) => key(name) === key(path)));
}

function extended(path) {
    return project(path).parsed?.options.configFile?.extendedSourceFiles ?? [];
}

const chosen = new Set();
const unconfigured = [];
for (const file of request.files) {
    const above = configurationsAbove(file);
    if (isConfiguration(file) && sys.fileExists(file)) {
        for (const path of [file, ...extending(file)]) if (isProject(path)) chosen.add(path);
        continue;
    }
    if (above.length === 0) {
        if (texts.get(key(file)) !== null) unconfigured.push(file);
        continue;
    }
    const isGone = texts.get(key(file)) === null;
    const homes = above.map((one) => [...reachable(one)].filter((path) => isGone || project(path).files.has(key(file))));
    for (const path of homes.find((paths) => paths.length > 0) ?? []) chosen.add(path);
}
// Who builds on a changed project can break with it.
for (const file of request.files) {
    for (const solution of configurationsAbove(file)) {
        for (const path of reachable(solution)) {
            if ([...reachable(path)].some((one) => chosen.has(one))) chosen.add(path);
        }
    }
}

const findings = [];
const lineStarts = new WeakMap(); // file → offsets
for (const path of chosen) {
    const { parsed, errors } = project(path);
    errors.forEach((problem) => findings.push(finding(problem, path)));
    // A solution that only refers to others has nothing of its own.
    if (parsed && parsed.fileNames.length > 0) {
        check(parsed.fileNames, parsed.options, parsed.projectReferences, path);
    }
}
if (unconfigured.length > 0) {
    check(unconfigured, {
        target: ts.ScriptTarget.ESNext,
        module: ts.ModuleKind.Preserve ?? ts.ModuleKind.ESNext,
        moduleResolution: ts.ModuleResolutionKind.Bundler ?? ts.ModuleResolutionKind.NodeJs,
        jsx: ts.JsxEmit.Preserve,
        allowImportingTsExtensions: true,
        skipLibCheck: true,
        types: [],
    });
}

function check(rootNames, options, projectReferences, configuration) {
    const checked = { ...options, noEmit: true, emitDeclarationOnly: undefined, tsBuildInfoFile: undefined };
    const host = ts.createIncrementalCompilerHost(checked, sys);
    // Other projects count as they stand in their sources, built or not.
    host.useSourceOfProjectReferenceRedirect = () => true;
    const program = ts.createProgram({ rootNames, options: checked, projectReferences, host });
    for (const problem of ts.getPreEmitDiagnostics(program)) findings.push(finding(problem, configuration));
}

/** Lines end as editors have it (LF, CRLF, CR), columns count code points. */
function finding(problem, configuration) {
    const file = problem.file;
    const start = position(file, problem.start ?? 0);
    const end = position(file, (problem.start ?? 0) + (problem.length ?? 0));
    return {
        path: resolve(file?.fileName ?? configuration ?? request.root),
        code: `TS${problem.code}`,
        message: ts.flattenDiagnosticMessageText(problem.messageText, "\n"),
        severity: ["warning", "error", "hint", "information"][problem.category],
        start_line: start.line,
        start_column: start.column,
        end_line: end.line,
        end_column: end.column,
        line_text: start.text.trim(),
    };
}

function position(file, offset) {
    if (!file) return { line: 0, column: 0, text: "" };
    if (!lineStarts.has(file)) {
        lineStarts.set(file, [0, ...[...file.text.matchAll(/\r\n|\r|\n/g)].map((end) => end.index + end[0].length)]);
    }
    const starts = lineStarts.get(file);
    let low = 0;
    for (let high = starts.length; high - low > 1; ) {
        const middle = (low + high) >> 1;
        if (starts[middle] <= offset) low = middle;
        else high = middle;
    }
    const text = file.text.slice(starts[low], starts[low + 1]);
    return { line: low, column: [...text.slice(0, offset - starts[low])].length, text };
}

// Several projects can include one file and say the same of it.
const once = new Map(findings.map((one) => [JSON.stringify(one), one]));
process.stdout.write(JSON.stringify({ findings: [...once.values()], unconfigured }));
