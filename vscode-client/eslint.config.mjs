import js from "@eslint/js";
import a11y from "eslint-plugin-jsx-a11y";
import { defineConfig, globalIgnores } from "eslint/config";
import ts from "typescript-eslint";

export default defineConfig(
  globalIgnores(["dist", "src/wire.ts"]),
  {
    files: ["src/**/*.{ts,tsx}", "test/**/*.{ts,tsx}"],
    extends: [js.configs.recommended, ts.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      complexity: ["error", { max: 10, variant: "modified" }],
      "no-console": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/no-confusing-void-expression": [
        "error",
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      // Numbers in texts are what most templates are for.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  {
    files: ["src/view/**/*.tsx"],
    extends: [a11y.flatConfigs.strict],
    rules: {
      // Regions that scroll must be reached with the keyboard.
      "jsx-a11y/no-noninteractive-tabindex": "off",
    },
  },
);
