// How much of each fault test is run: a short form with every `npm test`, a long one by `npm run test:faults`.

const isLong = process.env['FAULTS'] === 'long';

export const SIZE = {
  isLong,
  kills: isLong ? 500 : 3,
  keys: isLong ? 200 : 5,
  parallelRepeats: 50,
  events: isLong ? 100_000 : 500,
  walks: isLong ? 60 : 2,
  deletions: isLong ? 600 : 12,
  drains: isLong ? 50 : 2,
  soakMs: isLong ? 60_000 : 4000,
} as const;
