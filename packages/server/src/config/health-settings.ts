// The settings of what health looks at.

import { span, whole } from './kinds.ts';
import { setting } from './setting.ts';

const MEBIBYTES_MAX = 2 ** 30;

export const HEALTH = {
  LagMax: setting(
    span(),
    { ms: 60_000 },
    'How far views, alerts and deliveries may be behind the log before health is Degraded.',
  ),
  JobSilenceMax: setting(
    span(),
    { ms: 1_800_000 },
    'How long a background job may be under way without progress, or be due and not begun, before health is Degraded.',
  ),
  FreeMebibytesDegraded: setting(
    whole(0, MEBIBYTES_MAX),
    1024,
    'With less free disk space (MiB) for the data directory or the files of exports, health is Degraded.',
  ),
  FreeMebibytesUnhealthy: setting(
    whole(0, MEBIBYTES_MAX),
    64,
    'With less free disk space (MiB) for the data directory, health is Unhealthy, and the service is not ready.',
  ),
  ClockOffsetMax: setting(
    span(),
    { ms: 1000 },
    'How far the clock of the machine may be from that of the database, or be set back, before health is Degraded.',
  ),
};
