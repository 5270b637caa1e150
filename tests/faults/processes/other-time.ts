// The service on a machine whose wall clock is off, by CLOCK_SHIFT_MS. For the test of clocks that lie at a start.

import { systemClock } from '../../../packages/server/src/runtime/clock.ts';
import { serveWith } from './serve-with.ts';

const shiftMs = Number(process.env['CLOCK_SHIFT_MS']);

await serveWith({ clock: { ...systemClock, now: () => systemClock.now() + shiftMs } });
