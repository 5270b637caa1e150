// Lines on standard error: why a command cannot do what it was asked, and what somebody should know of what it does.

import { paint } from './paint.ts';

export function complain(line: string): void {
  process.stderr.write(`${paint('red', 'tallystick:', process.stderr)} ${line}\n`);
}

export function warn(line: string): void {
  process.stderr.write(`${paint('yellow', 'tallystick:', process.stderr)} ${line}\n`);
}
