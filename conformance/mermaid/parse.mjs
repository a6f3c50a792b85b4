// Mermaid's own parser over the given files: one line each, exit 1 when it refuses one.
import fs from "node:fs";
import { JSDOM } from "jsdom";

const { window } = new JSDOM("<!doctype html><html><body></body></html>");
Object.assign(globalThis, { window, document: window.document });
const { default: mermaid } = await import("mermaid");

let refused = 0;
for (const file of process.argv.slice(2)) {
  try {
    const { diagramType } = await mermaid.parse(fs.readFileSync(file, "utf8"));
    console.log(`${file}: ${diagramType}`);
  } catch (error) {
    refused += 1;
    console.error(`${file}: ${String(error.message ?? error).split("\n").slice(0, 4).join(" | ")}`);
  }
}
process.exit(refused ? 1 : 0);
