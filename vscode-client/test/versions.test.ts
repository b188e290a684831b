// Extension and server say when they do not fit, and which one to update.
import { expect, test } from "vitest";
import { misfit } from "../src/versions";
import { PROTOCOL_VERSION } from "../src/wire";

const SERVER = "update the server.";
const EXTENSION = "update the extension.";

test.each([
  ["0.4.0", "0.4.7", PROTOCOL_VERSION, ""],
  ["1.2.0", "1.2.0", PROTOCOL_VERSION, ""],
  ["0.4.0", "", PROTOCOL_VERSION, ""],
  ["0.4.0", "0.3.9", PROTOCOL_VERSION, SERVER],
  ["0.4.0", "0.10.0", PROTOCOL_VERSION, EXTENSION],
  ["1.0.0", "0.9.0", PROTOCOL_VERSION, SERVER],
  ["0.4.0", "0.4.0", PROTOCOL_VERSION + 1, EXTENSION],
  ["0.4.0", "0.4.0", PROTOCOL_VERSION - 1, SERVER],
  ["0.4.0", "", null, SERVER],
])("extension %s, server %j, protocol %j", (extension, server, protocol, words) => {
  const said = misfit(extension, { server, protocol });
  expect(said.endsWith(words)).toBe(true);
  expect(said === "").toBe(words === "");
  if (said) expect(said).toContain(extension);
});
