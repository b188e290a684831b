import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    plugins: [
        {
            // As the bundle does it: a picture is its text.
            name: "svg-as-text",
            enforce: "pre",
            load(id) {
                return id.endsWith(".svg")
                    ? `export default ${JSON.stringify(readFileSync(id, "utf8"))}`
                    : undefined;
            },
        },
    ],
    // The editor's own module is there only inside the editor.
    resolve: { alias: { vscode: fileURLToPath(new URL("test/editor.ts", import.meta.url)) } },
    test: {
        // A machine that is busy is not a defect.
        testTimeout: 60_000,
        include: ["test/**/*.test.{ts,tsx}"],
        restoreMocks: true,
    },
});
