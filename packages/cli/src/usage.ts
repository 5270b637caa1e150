// How every command explains itself, and how it refuses a command line: help that fits the terminal and says what is
// required, and one line like any other error where something is unknown or missing.

import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { type Command, Help } from 'commander';
import { isColoured } from './output/paint.ts';
import { printable } from './output/printable.ts';

/** Where there is less room than this, a description stays on one line. */
const DESCRIPTION_WIDTH_MIN = 20;
/** Of what is no terminal, or one that does not tell. */
const HELP_WIDTH_DEFAULT = 80;

/** A command line that is refused. The message is one line. */
export class WrongUsage extends Error {
  readonly command: Command;
  /** What the command is called by. */
  readonly calledBy: string;

  constructor(message: string, command: Command, calledBy: string) {
    super(message);
    this.command = command;
    this.calledBy = calledBy;
  }
}

/** Of a command and of those below it; `name` is what it is called by. */
export function configureUsage(command: Command, name: string): void {
  const plain = new Help();
  command
    .configureHelp({
      minWidthToWrap: DESCRIPTION_WIDTH_MIN,
      optionDescription: (option) =>
        `${plain.optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
      // Taken out again where the output has no colours.
      styleTitle: (title) => styleText('bold', title, { validateStream: false }),
    })
    .configureOutput({
      getOutHelpWidth: () => helpWidth(process.stdout),
      getErrHelpWidth: () => helpWidth(process.stderr),
      getOutHasColors: () => isColoured(process.stdout),
      getErrHasColors: () => isColoured(process.stderr),
      outputError(text) {
        throw new WrongUsage(oneLine(text), command, name);
      },
    });
  for (const part of command.commands) configureUsage(part, `${name} ${part.name()}`);
}

function helpWidth(to: WriteStream): number {
  return (to.isTTY && to.columns) || HELP_WIDTH_DEFAULT;
}

function oneLine(text: string): string {
  return printable(
    text
      .replace(/^error: /, '')
      .trimEnd()
      .replaceAll('\n', ' '),
  );
}
