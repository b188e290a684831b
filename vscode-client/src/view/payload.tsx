// Exactly what a call would do or did: a command, or a diff line by line.
import type { ToolKind } from "../wire";
import { visible } from "./format";

interface Props {
  text: string;
  kind: ToolKind;
  label: string;
}

/** Text in full; a diff gets its colours, and a command is wrapped, with its line ends marked. */
export function Payload({ text, kind, label }: Props) {
  const lines = visible(text).replace(/\n$/, "").split("\n");
  const isDiff = kind !== "execute" && lines.some((line) => /^@@ /.test(line));
  const look = kind === "execute" ? "payload command" : "payload";
  return (
    <pre class={look} role="region" tabIndex={0} aria-label={label}>
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
