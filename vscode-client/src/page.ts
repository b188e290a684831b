// The panel's document: nothing but our own script and style, and no way out.
import type { Texts } from "./l10n";

export interface PageParts {
  script: string;
  style: string;
  /** Where the webview may load our files from. */
  source: string;
  nonce: string;
  /** The texts in the user's language, and which that is; absent: English. */
  l10n?: { language: string; texts: Texts };
}

/** The HTML of the panel; loads nothing that is not part of the extension. */
export function page({ script, style, source, nonce, l10n }: PageParts): string {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${source}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const texts = l10n ? ` data-texts="${escaped(JSON.stringify(l10n.texts))}"` : "";
  return `<!DOCTYPE html>
<html lang="${escaped(l10n?.language ?? "en")}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${style}">
<title>Agent</title>
</head>
<body>
<div id="root"${texts}></div>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}

/** A text as the value of an attribute. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
