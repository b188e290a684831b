// Lets Node.js before 22 load the suite, which imports fs.globSync for what the tests do not use.
import { register } from "node:module";

const fs = "data:text/javascript,export * from 'node:fs'; export const globSync = undefined;";
const hooks = `export const resolve = (name, context, next) =>
  name === "fs" && context.parentURL.includes("/conformance/dist/")
    ? { url: ${JSON.stringify(fs)}, shortCircuit: true }
    : next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
