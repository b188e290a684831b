import { readFileSync } from "node:fs";
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
    test: {
        // A machine that is busy is not a defect.
        testTimeout: 60_000,
        include: ["test/**/*.test.{ts,tsx}"],
        restoreMocks: true,
    },
});
