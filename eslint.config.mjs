// Lints the console's page. Names of the browser are checked by tsc, which knows them all.
import js from "@eslint/js";

export default [
  js.configs.recommended,
  { rules: { eqeqeq: "error", "no-undef": "off", "no-var": "error", "prefer-const": "error" } },
];
