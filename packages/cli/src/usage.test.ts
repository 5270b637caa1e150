// Help and the refusal of a command line.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { makeProgram } from './program.ts';
import { run } from './testing/command.ts';
import { noTerminal, runOnTerminal } from './testing/terminal.ts';

/** Every command, with those below it. */
function everyOne(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyOne)];
}

function requireWrappedOnce(help: string, columns: number, what: string): void {
  const lines = help.split('\n');
  assert.deepEqual(
    lines.filter((line) => line.length > columns),
    [],
    what,
  );
  // A line that ends although the next word had room was broken before.
  const early = lines.filter((line, i) => {
    const next = lines[i + 1]?.split(' ')[0] ?? '';
    return /^[A-Za-z]/.test(line) && /^[a-z]/.test(next) && line.length + 1 + next.length <= columns;
  });
  assert.deepEqual(early, [], what);
}

test('help is wrapped once, at any width', () => {
  for (const columns of [60, 80, 120]) {
    for (const command of everyOne(makeProgram())) {
      command.configureHelp({ ...command.configureHelp(), helpWidth: columns });
      requireWrappedOnce(command.helpInformation(), columns, `${command.name()} at ${columns}`);
    }
  }
});

test('the width of help is that of the terminal, or 80 where it does not tell', { skip: noTerminal }, () => {
  for (const [columns, width] of [
    [60, 60],
    [0, 80],
  ] as const) {
    const { code, shown } = runOnTerminal(['copy', '--help'], { columns, env: { NO_COLOR: '1' } });
    assert.equal(code, 0);
    requireWrappedOnce(shown, width, shown);
  }
});

test('help says which options are required', () => {
  const help = everyOne(makeProgram())
    .find((command) => command.name() === 'witness')!
    .helpInformation();
  const required = [...help.matchAll(/^ {2}(--\S+) (?:(?!^ {2}-)[^])*?\(required\)/gm)].map(
    ([, name]) => name,
  );
  assert.deepEqual(required, ['--data', '--name']);
});

test('a command line that cannot be read is refused like anything else, on one line that says where to look', async () => {
  const cases: [args: string[], line: string][] = [
    [['fly'], "unknown command 'fly' (tallystick --help says more)"],
    [['serch'], "unknown command 'serch' (Did you mean search?) (tallystick --help says more)"],
    [['serve', '--fast'], "unknown option '--fast' (tallystick serve --help says more)"],
    [
      ['serve', '--port', '9'],
      "unknown option '--port'; did you mean the setting Server__Port or Grpc__Port, in the environment or the settings file? (tallystick serve --help says more)",
    ],
    [
      ['keys', 'list', '--data-dir=x'],
      "unknown option '--data-dir=x'; did you mean the setting Storage__DataDirectory, in the environment or the settings file? (tallystick keys list --help says more)",
    ],
    [['serve', '--v1-state'], "unknown option '--v1-state' (tallystick serve --help says more)"],
    [['serve', '--key'], "unknown option '--key' (tallystick serve --help says more)"],
    [
      ['serve', '--confg'],
      "unknown option '--confg' (Did you mean --config?) (tallystick serve --help says more)",
    ],
    [
      ['search', '--tenant', 'acme', '--environment'],
      "unknown option '--environment' (tallystick search --help says more)",
    ],
    [['verify'], "missing required argument 'file' (tallystick verify --help says more)"],
    [['token'], "required option '--tenant <tenant>' not specified (tallystick token --help says more)"],
    [['keys', 'rotate'], "missing required argument 'keyId' (tallystick keys rotate --help says more)"],
    [['serve', '--\u001b[31m'], "unknown option '--\\u001b[31m' (tallystick serve --help says more)"],
  ];
  for (const [args, line] of cases) {
    const { code, stdout, stderr } = await run(args);
    assert.deepEqual({ code, stdout, stderr }, { code: 2, stdout: '', stderr: `tallystick: ${line}\n` });
  }
});
