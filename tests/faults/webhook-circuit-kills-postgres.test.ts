// The kills of webhook-circuit-kills.test.ts, on PostgreSQL.

import { test } from 'node:test';
import { BACKENDS } from './backends.ts';
import { SIZE } from './size.ts';
import {
  requireGatesSurvive,
  requireProbesSurvive,
  requireRemovalsSurvive,
} from './webhooks/circuit-cuts.ts';
import { EVERYWHERE, NOW_AND_THEN } from './webhooks/cuts.ts';

const WHERE = SIZE.isLong ? EVERYWHERE : NOW_AND_THEN;

test('no circuit stays open because of a kill in a test delivery, on PostgreSQL', (t) =>
  requireProbesSurvive(t, BACKENDS.PostgreSQL, WHERE));

test('a pause and a resumption hold whatever is killed on the way, on PostgreSQL', (t) =>
  requireGatesSurvive(t, BACKENDS.PostgreSQL, WHERE));

test('nothing is left of a deleted subscription whatever is killed on the way, on PostgreSQL', () =>
  requireRemovalsSurvive(BACKENDS.PostgreSQL, WHERE));
