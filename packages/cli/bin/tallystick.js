#!/usr/bin/env node
// Starts the command on a Node that can run it. In plain JavaScript for Node 18 and later, because it has to run
// where the command itself cannot: on an older Node it starts again on the Node 24 that came with the packages, if
// there is one, and says what is missing if not. Inside the repository the sources run as they are, which
// needs the condition `source`; a published package runs its build.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE_MAJOR_MIN = 24;
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'];
/** Set for the child: another parent with a channel to it may leave it. */
const LAUNCHED = 'TALLYSTICK_LAUNCHED';

const launcher = fileURLToPath(import.meta.url);
const source = join(dirname(launcher), '../src/main.ts');
const inRepository = existsSync(source);
const isOld = Number(process.versions.node.split('.')[0]) < NODE_MAJOR_MIN;

if (isOld) {
  const node = bundledNode();
  if (node === undefined) {
    process.stderr.write(`tallystick: needs Node ${NODE_MAJOR_MIN} or later; this is ${process.version}\n`);
    process.exit(2);
  }
  startAgain(node, []);
} else if (inRepository && !readsSources()) {
  startAgain(process.execPath, process.execArgv);
} else {
  endWithLauncher();
  // Stripping types and compiling is most of a short command's time; the result is kept for the next one.
  const { directory } = (await import('node:module')).enableCompileCache?.() ?? {};
  // Threads find what is kept by their environment alone; without it each compiles for itself.
  if (directory !== undefined) process.env['NODE_COMPILE_CACHE'] ||= directory;
  await import(inRepository ? '../src/main.ts' : '../dist/main.js');
}

/** The Node that the repository brings as an optional dependency. */
function bundledNode() {
  try {
    const found = createRequire(import.meta.url).resolve(
      `node-${process.platform}-${process.arch}/package.json`,
    );
    const node = join(dirname(found), 'bin/node');
    return existsSync(node) ? node : undefined;
  } catch {
    return undefined;
  }
}

/** Whether packages resolve to their sources: what `--conditions=source` does, however it was given. */
function readsSources() {
  return import.meta.resolve('@tallystick/server').endsWith('.ts');
}

/** A launcher that is killed can pass nothing on; that it is gone is seen by the channel to it. */
function endWithLauncher() {
  const isLaunched = process.env[LAUNCHED] === 'yes';
  delete process.env[LAUNCHED];
  if (!isLaunched || process.channel === undefined) return;
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

/** Runs the command in a child that stands in for this process: same terminal, same signals, same exit code. */
function startAgain(node, flags) {
  // The page that verifies exports is made of the sources, and Node calls it experimental to take types out of them.
  const sources = inRepository ? ['--conditions=source', '--disable-warning=ExperimentalWarning'] : [];
  const args = [...flags, ...sources, launcher, ...process.argv.slice(2)];
  const env = { ...process.env, [LAUNCHED]: 'yes' };
  const child = spawn(node, args, { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`tallystick: cannot start ${node}: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    for (const each of SIGNALS) process.removeAllListeners(each);
    process.kill(process.pid, signal);
  });
}
