#!/usr/bin/env node
// Stands for the program that this package carries: its standard streams are the program's own,
// signals are passed on to it, and this process ends as it ends.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const path = require("node:path");

const program = path.join(__dirname, "..", "native", "bouncer");
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });

const passed = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"];
for (const signal of passed) process.on(signal, () => child.kill(signal));

child.on("error", (error) => {
  const hint = error.code === "ENOENT" ? " (the program is missing, or this system has no glibc)" : "";
  process.stderr.write(`error: \`${program}\` does not start: ${error.message}${hint}\n`);
  process.exitCode = 1;
});

child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exitCode = code;
    return;
  }
  // Killed: be killed by the same, so that whoever waits sees what happened.
  for (const name of passed) process.removeAllListeners(name);
  process.kill(process.pid, signal);
  // What Node ignores or cannot send itself still ends as shells say it.
  process.exitCode = 128 + (constants.signals[signal] ?? 1);
});
