// Colour, on a terminal alone: pipes and files get the same bytes as ever, also where FORCE_COLOR is set, and so does a
// terminal with NO_COLOR.

import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';

export type Paint = 'green' | 'red' | 'yellow' | 'bold';

export function paint(format: Paint, text: string, to: WriteStream = process.stdout): string {
  return isColoured(to) ? styleText(format, text, { validateStream: false }) : text;
}

export function isColoured(to: WriteStream): boolean {
  return to.isTTY && !process.env['NO_COLOR'] && to.hasColors();
}
