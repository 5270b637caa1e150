// P10 for a service that is killed while it tests a consumer whose circuit is open, and while it carries out a pause, a resumption or a
// removal: after the restart the circuit closes, the change is in effect, and nothing is lost.

import { test } from 'node:test';
import { BACKENDS } from './backends.ts';
import { SIZE } from './size.ts';
import {
  requireGatesSurvive,
  requireProbesSurvive,
  requireRemovalsSurvive,
} from './webhooks/circuit-cuts.ts';
import { EVERYWHERE, IN_TURN } from './webhooks/cuts.ts';

const WHERE = SIZE.isLong ? EVERYWHERE : IN_TURN;

test('no circuit stays open because of a kill in a test delivery, on SQLite', (t) =>
  requireProbesSurvive(t, BACKENDS.SQLite, WHERE));

test('a pause and a resumption hold whatever is killed on the way, on SQLite', (t) =>
  requireGatesSurvive(t, BACKENDS.SQLite, WHERE));

test('nothing is left of a deleted subscription whatever is killed on the way, on SQLite', () =>
  requireRemovalsSurvive(BACKENDS.SQLite, WHERE));
