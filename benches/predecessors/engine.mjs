// Runs the Node predecessor's engine for compare.py: see there for what is said.
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [root, policy, callsFile] = process.argv.slice(2);
const from = (file) => import(pathToFileURL(`${root}/node_modules/border-patrol-mcp/dist/${file}`));
const { loadConfig } = await from("config.js");
const { PolicyEngine } = await from("policy/engine.js");

const now = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
};
const calls = readFileSync(callsFile, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const start = now();
const engine = new PolicyEngine(loadConfig(policy));
const load = now() - start;

const verdicts = calls.map((call) => engine.decide(call.tool, call.args, undefined).action);
console.log(JSON.stringify({ load, verdicts }));

for await (const line of createInterface({ input: process.stdin })) {
  const passes = Number(line);
  const start = now();
  for (let pass = 0; pass < passes; pass++) {
    for (const call of calls) engine.decide(call.tool, call.args, undefined);
  }
  console.log((now() - start) / passes / calls.length);
}
