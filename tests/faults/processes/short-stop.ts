// The service as `tallystick serve` runs it, with a few seconds to stop instead of half a minute. For the test of a
// stop that hangs.

import { runServer } from '../../../packages/server/src/main.ts';

process.exit(await runServer({ stopMsMax: Number(process.env['STOP_MS_MAX']) }));
