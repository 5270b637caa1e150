// Webhook subscriptions and their deliveries.

import { json, list, none, operation, REVALIDATED } from '../operation.ts';
import { arrayOf, optional, refusedAs } from '../schema.ts';
import { PAGING } from '../schemas/list.ts';
import { SubscriptionId, WebhookId } from '../schemas/primitives.ts';
import {
  Delivery,
  DeliveryStatus,
  NewSubscription,
  Recovery,
  RecoveryRequest,
  RotatedSecret,
  SecretRotation,
  Subscription,
  SubscriptionConfiguration,
  SubscriptionPatch,
  SubscriptionStatus,
  TestDelivery,
} from '../schemas/webhook.ts';
import { ifMatch, inIfMatch } from './if-match.ts';

const subscriptionId = refusedAs('SUBSCRIPTION_NOT_FOUND', SubscriptionId);
const webhookId = refusedAs('DELIVERY_NOT_FOUND', WebhookId);
/** Its version; with the state of the circuit, where that is not closed. */
const tagged = { ETag: '{etag}' };
const secretInRequest = {
  mcp: "The request may carry a signing secret and a private key; a model's context is no place for them.",
};
const secretInAnswer = { mcp: "The answer shows a secret once; a model's context is no place for it." };

export const WEBHOOK_OPERATIONS = [
  operation({
    name: 'subscriptions.create',
    summary: 'Subscribe a URL to notifications',
    effect: 'Write',
    permission: 'audit.webhooks.manage',
    input: { subscription: SubscriptionConfiguration },
    output: json(NewSubscription),
    answers: { Created: 'The subscription, with its secret, which is not shown again.' },
    rest: {
      method: 'POST',
      path: '/webhooks/subscriptions',
      body: 'subscription',
      answerHeaders: { Location: '/webhooks/subscriptions/{subscriptionId}', ...tagged },
    },
    gaps: secretInAnswer,
  }),
  operation({
    name: 'subscriptions.list',
    summary: 'List subscriptions, newest first',
    effect: 'Read',
    permission: 'audit.webhooks.manage',
    input: { status: optional(arrayOf(SubscriptionStatus, { minItems: 1, maxItems: 3 })), ...PAGING },
    output: list(Subscription),
    answers: { Done: 'A page of subscriptions.' },
    rest: { method: 'GET', path: '/webhooks/subscriptions' },
  }),
  operation({
    name: 'subscriptions.get',
    summary: 'Get a subscription with the state of its circuit',
    effect: 'Read',
    permission: 'audit.webhooks.manage',
    input: { subscriptionId },
    output: json(Subscription),
    answers: { Done: 'The subscription.' },
    rest: {
      method: 'GET',
      path: '/webhooks/subscriptions/{subscriptionId}',
      answerHeaders: { ...REVALIDATED, ...tagged },
    },
  }),
  operation({
    name: 'subscriptions.replace',
    summary: 'Replace a subscription',
    effect: 'Write',
    permission: 'audit.webhooks.manage',
    input: { subscriptionId, ifMatch, subscription: SubscriptionConfiguration },
    output: json(Subscription),
    answers: { Done: 'The subscription as it is now.' },
    rest: {
      method: 'PUT',
      path: '/webhooks/subscriptions/{subscriptionId}',
      headers: inIfMatch,
      body: 'subscription',
      answerHeaders: tagged,
    },
    gaps: secretInRequest,
  }),
  operation({
    name: 'subscriptions.update',
    summary: 'Change some members of a subscription',
    effect: 'Write',
    permission: 'audit.webhooks.manage',
    input: { subscriptionId, ifMatch, patch: SubscriptionPatch },
    output: json(Subscription),
    answers: { Done: 'The subscription as it is now.' },
    rest: {
      method: 'PATCH',
      path: '/webhooks/subscriptions/{subscriptionId}',
      headers: inIfMatch,
      body: 'patch',
      answerHeaders: tagged,
    },
    gaps: secretInRequest,
  }),
  operation({
    name: 'subscriptions.delete',
    summary: 'Delete a subscription and its queued deliveries',
    effect: 'Write',
    permission: 'audit.webhooks.manage',
    input: { subscriptionId, ifMatch },
    output: none,
    answers: { Removed: 'Nothing more is sent.' },
    rest: {
      method: 'DELETE',
      path: '/webhooks/subscriptions/{subscriptionId}',
      headers: inIfMatch,
    },
  }),
  operation({
    name: 'subscriptions.pause',
    summary: 'Pause a subscription; deliveries wait',
    effect: 'Write',
    permission: 'audit.webhooks.manage',
    input: { subscriptionId },
    output: json(Subscription),
    answers: { Done: 'It is paused now, even if it was before.' },
    rest: {
      method: 'POST',
      path: '/webhooks/subscriptions/{subscriptionId}/pause',
      answerHeaders: tagged,
    },
  }),
  operation({
    name: 'subscriptions.resume',
    summary: 'Resume a paused or failed subscription, oldest deliveries first',
    effect: 'Write',
    permission: 'audit.webhooks.manage',
    input: { subscriptionId },
    output: json(Subscription),
    answers: { Done: 'It is active now, even if it was before.' },
    rest: {
      method: 'POST',
      path: '/webhooks/subscriptions/{subscriptionId}/resume',
      answerHeaders: tagged,
    },
  }),
  operation({
    name: 'subscriptions.test',
    summary: 'Send one test notification now and report the answer',
    effect: 'Write',
    permission: 'audit.webhooks.manage',
    input: { subscriptionId },
    output: json(TestDelivery),
    answers: {
      Done: 'How the consumer answered.',
      Repeated: 'Recognised by its key: the first answer again, without `responseBody`.',
    },
    rest: { method: 'POST', path: '/webhooks/subscriptions/{subscriptionId}/test' },
  }),
  operation({
    name: 'subscriptions.rotateSecret',
    summary: 'Make a new signing secret; the old one signs, too, for a while',
    effect: 'Write',
    permission: 'audit.webhooks.manage',
    input: { subscriptionId, rotation: optional(SecretRotation) },
    output: json(RotatedSecret),
    answers: { Done: 'The new secret, which is not shown again.' },
    rest: {
      method: 'POST',
      path: '/webhooks/subscriptions/{subscriptionId}/rotate-secret',
      body: 'rotation',
    },
    gaps: secretInAnswer,
  }),
  operation({
    name: 'subscriptions.recover',
    summary: 'Send again what was not acknowledged since a time',
    effect: 'Write',
    permission: 'audit.webhooks.manage',
    input: { subscriptionId, recovery: RecoveryRequest },
    output: json(Recovery),
    answers: {
      Accepted: 'The log is read again; the operation shows the progress.',
      Repeated: 'Recognised by its key: the first answer again.',
    },
    rest: {
      method: 'POST',
      path: '/webhooks/subscriptions/{subscriptionId}/recover',
      body: 'recovery',
      answerHeaders: { Location: '/admin/operations/{operationId}' },
    },
  }),
  operation({
    name: 'deliveries.list',
    summary: 'List the deliveries of a subscription with every attempt',
    effect: 'Read',
    permission: 'audit.webhooks.manage',
    input: {
      subscriptionId,
      status: optional(arrayOf(DeliveryStatus, { minItems: 1, maxItems: 4 })),
      ...PAGING,
    },
    output: list(Delivery),
    answers: { Done: 'A page of deliveries, newest first.' },
    rest: { method: 'GET', path: '/webhooks/subscriptions/{subscriptionId}/deliveries' },
  }),
  operation({
    name: 'deliveries.redeliver',
    summary: 'Send a delivery again from its first attempt',
    effect: 'Write',
    permission: 'audit.webhooks.manage',
    input: { subscriptionId, webhookId },
    output: json(Delivery),
    answers: {
      Accepted: 'It is queued again under the same id.',
      Repeated: 'Recognised by its key: the first answer again.',
    },
    rest: {
      method: 'POST',
      path: '/webhooks/subscriptions/{subscriptionId}/deliveries/{webhookId}/redeliver',
    },
  }),
] as const;
