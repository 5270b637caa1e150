// How many cases a test with very many runs: a tenth with every `npm test`, all by `npm run test:faults`.

export const IS_LONG = process.env['FAULTS'] === 'long';

/** Of cases that chance makes. */
export function runs(count: number): number {
  return IS_LONG ? count : Math.ceil(count / 10);
}
