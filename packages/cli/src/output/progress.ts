// Progress of long work: one line on standard error, drawn again in its place, and only on a terminal: pipes and files stay
// clean. It says how much is done, how fast it goes, and how long the rest takes, where the total is known.

import type { WriteStream } from 'node:tty';
import { cutTo, widthOf } from './fit-text.ts';
import { shownLength } from './length-of-time.ts';
import { printable } from './printable.ts';

/** Disposed, it is gone from the terminal. */
export interface Progress extends Disposable {
  /** So much more is done. */
  add(amount: number): void;
  /** So much is done by now, of so much; `share` where that is known, and no total. */
  show(done: number, total: number | undefined, share?: number): void;
}

export interface ProgressOptions {
  /** Undefined: nobody knows, or `show` tells. */
  readonly total?: number | undefined;
  readonly to?: WriteStream;
  /** In milliseconds. */
  readonly now?: () => number;
}

/** What is done before that is not worth a line. */
const SHOWN_AFTER_MS = 500;
const PACE_MS = 200;
const RATE_OVER_MS = 10_000;
const COLUMNS_DEFAULT = 80;

/** `unit` is what is counted, such as `entries`; `bytes` are shown as megabytes. */
export function startProgress(
  what: string,
  unit: string,
  { total, to = process.stderr, now = () => process.uptime() * 1000 }: ProgressOptions = {},
): Progress {
  if (!to.isTTY || process.env['TERM'] === 'dumb') return { add() {}, show() {}, [Symbol.dispose]() {} };
  let done = 0;
  let isDrawn = false;
  let nextMs = now() + SHOWN_AFTER_MS;
  const seen = [{ ms: now(), done: 0, share: 0 }];
  const progress: Progress = {
    add: (amount) => progress.show(done + amount, total),
    show(doneNow, totalNow, share) {
      done = doneNow;
      const ms = now();
      if (ms < nextMs) return;
      nextMs = ms + PACE_MS;
      while (seen.length > 1 && seen[0]!.ms < ms - RATE_OVER_MS) seen.shift();
      const [first] = seen;
      seen.push({ ms, done, share: share ?? 0 });
      const seconds = Math.max(1, ms - first!.ms) / 1000;
      const perSecond = (done - first!.done) / seconds;
      const gained = (share ?? 0) - first!.share;
      const secondsLeft = gained > 0 ? ((1 - share!) / gained) * seconds : undefined;
      const line = progressLine(
        { what, done, total: totalNow, share, perSecond, secondsLeft, unit },
        to.columns || COLUMNS_DEFAULT,
      );
      to.write(`\r${line}\u001b[K`);
      isDrawn = true;
    },
    [Symbol.dispose]() {
      if (isDrawn) to.write('\r\u001b[K');
      isDrawn = false;
    },
  };
  return progress;
}

export interface ProgressFigures {
  readonly what: string;
  readonly done: number;
  readonly total: number | undefined;
  readonly perSecond: number;
  /** From 0 to 1, and how long the rest takes: undefined where the total tells. */
  readonly share?: number | undefined;
  readonly secondsLeft?: number | undefined;
  readonly unit: string;
}

const BAR_LENGTHS = [20, 10, 6];
const GAP = '  ';
const WHAT_WIDTH_MIN = 20;

/** Always narrower than the terminal: what reaches its edge cannot be drawn again in place. */
export function progressLine(figures: ProgressFigures, columns: number): string {
  const what = printable(figures.what);
  const room = columns - 1;
  for (const parts of shapesOf(figures)) {
    const rest = parts.filter((part) => part !== '').join(GAP);
    const left = room - widthOf(rest) - GAP.length;
    if (left >= Math.min(widthOf(what), WHAT_WIDTH_MIN)) return `${cutTo(what, left)}${GAP}${rest}`;
  }
  return cutTo(what, room);
}

/** From the fullest to the barest. */
function shapesOf(figures: ProgressFigures): string[][] {
  const { done, total, perSecond, unit } = figures;
  const rate = perSecond > 0 ? `${amountOf(perSecond, unit)}/s` : '';
  const count = countOf(done, total, unit);
  const toldBy = total === undefined ? figures.share : done / Math.max(1, total);
  if (toldBy === undefined) return [[count, rate], [count]];
  const share = Math.min(1, toldBy);
  const percent = `${Math.floor(share * 100)} %`;
  const byTotal = total === undefined || perSecond <= 0 ? undefined : (total - done) / perSecond;
  const secondsLeft = byTotal ?? figures.secondsLeft;
  const left = secondsLeft === undefined ? '' : `${shownLength(Math.max(0, secondsLeft))} left`;
  return [
    ...BAR_LENGTHS.map((length) => [barOf(share, length), percent, count, rate, left]),
    [percent, count, rate, left],
    [percent, rate, left],
    [percent, left],
    [percent],
  ];
}

function countOf(done: number, total: number | undefined, unit: string): string {
  if (unit === 'bytes')
    return total === undefined ? amountOf(done, unit) : `${megabytes(done)} of ${amountOf(total, unit)}`;
  const all = total === undefined ? '' : ` of ${amountOf(total, unit)}`;
  return `${amountOf(done, unit)}${all} ${unit}`;
}

function barOf(share: number, length: number): string {
  return '█'.repeat(Math.floor(share * length)).padEnd(length, '░');
}

function amountOf(amount: number, unit: string): string {
  return unit === 'bytes' ? `${megabytes(amount)} MB` : Math.round(amount).toLocaleString('en');
}

function megabytes(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1);
}
