// Exactly what a call would do or did: a command, or a diff line by line.
import { visible } from "./format";

/** Text in full, never wrapped into something else; a diff gets its colours. */
export function Payload({ text, label }: { text: string; label: string }) {
  const lines = visible(text).replace(/\n$/, "").split("\n");
  const isDiff = lines.some((line) => /^@@ /.test(line));
  return (
    <pre class="payload" role="region" tabIndex={0} aria-label={label}>
      {lines.map((line, index) => (
        <span key={index} class={isDiff ? `row ${lineKind(line)}` : "row"}>
          {line || " "}
        </span>
      ))}
    </pre>
  );
}

function lineKind(line: string): string {
  if (/^(---|\+\+\+) /.test(line)) return "file";
  if (line.startsWith("@@")) return "hunk";
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "removed";
  return "same";
}
