// Where a link in the panel may lead: to files of the workspace, and outside after a question.
//
// What the panel shows was written by a model that may have read hostile text, so that no address
// is followed just because it was clicked.
import * as vscode from "vscode";

/** Show a place in a file; the line is 0-based. */
export async function openPlace(address: string, line: number | null): Promise<void> {
  const uri = vscode.Uri.parse(address);
  if (uri.scheme !== "file" && uri.scheme !== "untitled") return;
  const at = new vscode.Position(line ?? 0, 0);
  const selection = line === null ? {} : { selection: new vscode.Range(at, at) };
  try {
    await vscode.window.showTextDocument(uri, { preview: true, ...selection });
  } catch {
    void vscode.window.showWarningMessage(
      vscode.l10n.t("{0} cannot be shown.", vscode.workspace.asRelativePath(uri)),
    );
  }
}

/** Follow a link in an answer: a path below the workspace is opened, a web address after a yes. */
export async function follow(href: string): Promise<void> {
  if (/^(https?|mailto):/i.test(href)) return visit(href);
  const [whole = "", fragment = ""] = href.split("#", 2);
  const { path, line } = named(whole, fragment);
  const place = (await inWorkspace(whole)) ?? (await inWorkspace(path));
  if (!place) {
    return void vscode.window.showWarningMessage(
      vscode.l10n.t("This link leads nowhere in the workspace: {0}", href),
    );
  }
  await openPlace(place.toString(), line ? Number(line) - 1 : null);
}

/** What a model names: `path#Lline`, `path:line`, `path:line:column` or `path:line-line`. */
function named(whole: string, fragment: string): { path: string; line: string | undefined } {
  const [, path = whole, number] = /^(.*?):([1-9]\d*)(?:[:-]\d+)?$/.exec(whole) ?? [];
  return { path, line: /^L(\d+)/.exec(fragment)?.[1] ?? number };
}

async function visit(href: string): Promise<void> {
  const uri = vscode.Uri.parse(href, true);
  const open = vscode.l10n.t("Open");
  const answer = await vscode.window.showWarningMessage(
    vscode.l10n.t("Open this link from the agent's answer?"),
    { modal: true, detail: uri.toString(true) },
    open,
  );
  if (answer === open) await vscode.env.openExternal(uri);
}

/** The existing file below a workspace folder that a relative path or file address names. */
async function inWorkspace(path: string): Promise<vscode.Uri | null> {
  if (/^[a-z][a-z0-9+.-]*:/i.test(path) && !path.startsWith("file:")) return null;
  const folders = vscode.workspace.workspaceFolders ?? [];
  const decoded = safelyDecoded(path);
  const candidates = path.startsWith("file:")
    ? [vscode.Uri.parse(path)]
    : folders.flatMap(({ uri, name }) => {
        // With several folders, the agent writes the folder's name before a path.
        const below = decoded.startsWith(`${name}/`) ? [decoded.slice(name.length + 1)] : [];
        return [decoded, ...below].map((one) => vscode.Uri.joinPath(uri, one));
      });
  for (const uri of candidates) {
    if (!vscode.workspace.getWorkspaceFolder(uri)) continue;
    const stat = await vscode.workspace.fs.stat(uri).then(
      (found) => found,
      () => null,
    );
    if (stat && stat.type & vscode.FileType.File) return uri;
  }
  return null;
}

function safelyDecoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
