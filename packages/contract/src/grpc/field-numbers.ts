// The numbers of all fields and enum values over gRPC. A number belongs to its member for ever and in every version:
// clients know members by it. `npm run docs` appends new members; what is removed stays, as `reserved`.

export const FIELD_NUMBERS = `
AccessExplanation: clearance 1, redaction 2, rules 3
Acknowledgement: comment 1
Actor: actorType 1, userId 2, userName 3, serviceId 4, serviceName 5
Aggregations: byAction 1, byActor 2, byResource 3, byClassification 4, byDay 5, byHour 6, byActorType 7, byOutcome 8, otherCount 9
AlertThreshold: count 1, window 2, groupBy 3
ApiKey: keyId 1, tenantId 2, name 3, roles 4, scopes 5, clearance 6, status 7, createdAt 8, createdBy 9, expiresAt 10, allowedNetworks 11, rotatedFrom 12, lastUsedAt 13
ApiKeysServiceCreateRequest: key 1
ApiKeysServiceCreateResponse: issuedKey 1
ApiKeysServiceGetRequest: keyId 1
ApiKeysServiceGetResponse: apiKey 1
ApiKeysServiceListRequest: tenantId 1, limit 2, cursor 3
ApiKeysServiceListResponse: data 1, pagination 2
ApiKeysServiceRevokeRequest: keyId 1
ApiKeysServiceRotateRequest: keyId 1, rotation 2
ApiKeysServiceRotateResponse: issuedKey 1
ApiVersionStatus: version 1, state 2, deprecationDate 3, sunsetDate 4
AttemptTimings: dnsMs 1, connectMs 2, tlsMs 3, firstByteMs 4
AuditEvent: eventId 1, tenantId 2, kind 3, sequence 4, timestamp 5, receivedAt 6, correlationId 7, actor 8, action 9, resource 10, classification 11, outcome 12, context 13, payload 14, submittedBy 15, redaction 16, retention 17, integrity 18, relatedEntities 19
AwaitingConfirmation: operationId 1, status 2
BackgroundOperation: kind 1, operationId 2, status 3, progress 4, requestedAt 5, requestedBy 6, startedAt 7, completedAt 8, failureReason 9, queuedDeliveries 10
BatchItemError: code 1, message 2, details 3
BatchItemResult: index 1, status 2, eventId 3, error 4
BatchRequest: events 1, transactional 2
BatchResult: batchId 1, tenantId 2, status 3, transactional 4, idempotent 5, totalCount 6, successCount 7, failureCount 8, timestamp 9, results 10, error 11
Bucket: key 1, label 2, count 3
Checkpoint: origin 1, treeSize 2, rootHash 3, checkpoint 4, publishedAt 5, cosignatures 6
CheckpointsServiceLatestResponse: checkpoint 1
CheckpointsServiceProveConsistencyRequest: from 1, to 2
CheckpointsServiceProveConsistencyResponse: consistencyProof 1
Circuit: state 1, consecutiveFailures 2, openedAt 3, nextAttemptAt 4
ClassificationExplanation: value 1, hint 2, rules 3
ClosedUnit: tag 1, commitment 2
Confirmation: redactionReceipt 1, erasure 2
ConsistencyProof: from 1, to 2, fromRootHash 3, toRootHash 4, hashes 5, checkpoint 6
DeadLetter: messageId 1, source 2, tenantId 3, subscriptionId 4, webhookId 5, exportId 6, reason 7, attempts 8, firstFailedAt 9, lastFailedAt 10, expiresAt 11, status 12
DeadLettersServiceListRequest: source 1, subscriptionId 2, status 3, limit 4, cursor 5
DeadLettersServiceListResponse: data 1, pagination 2
DeadLettersServiceReprocessAllRequest: reprocess 1
DeadLettersServiceReprocessAllResponse: reprocessed 1
DeadLettersServiceReprocessRequest: messageId 1
DeadLettersServiceReprocessResponse: deadLetter 1
DeliverRequest: destination 1
DeliveriesServiceListRequest: subscriptionId 1, status 2, limit 3, cursor 4
DeliveriesServiceListResponse: data 1, pagination 2
DeliveriesServiceRedeliverRequest: subscriptionId 1, webhookId 2
DeliveriesServiceRedeliverResponse: delivery 1
Delivery: webhookId 1, subscriptionId 2, webhookType 3, status 4, attemptNumber 5, nextAttemptAt 6, attempts 7
DeliveryAttempt: attemptNumber 1, at 2, responseStatus 3, latencyMs 4, error 5, fault 6, responseBody 7, requestHeaders 8, timings 9
DeliveryDestination: type 1, host 2, port 3, path 4, username 5, password 6, privateKey 7, hostKeyFingerprint 8, provider 9, endpoint 10, region 11, bucket 12, prefix 13, accessKeyId 14, secretAccessKey 15
Erasure: erasureId 1, status 2, requestedAt 3, requestedBy 4, completedAt 5, matchedEvents 6, erasedEvents 7, heldEvents 8, noticeId 9, correlationId 10, failureReason 11
ErasureAnswer: erasure 1, awaitingConfirmation 2
ErasureRequest: subject 1, tenantId 2, fields 3, reason 4
ErasureSubject: userId 1, userName 2, resourceType 3, resourceId 4
ErasuresServiceCreateRequest: erasure 1
ErasuresServiceCreateResponse: erasureAnswer 1
ErasuresServiceGetRequest: erasureId 1
ErasuresServiceGetResponse: erasure 1
ErrorDetail: field 1, issue 2, value 3
ErrorInfo: code 1, message 2, details 3, traceId 4, timestamp 5, path 6, requestId 7
EventDraft: timestamp 1, actor 2, action 3, resource 4, context 5, contextJson 6, payload 7, payloadJson 8, correlationId 9, eventId 10, outcome 11, classification 12, tenantId 13
EventExplanation: eventId 1, classification 2, retention 3, access 4
EventIntegrity: streamId 1, leafIndex 2, leafHash 3, previousHash 4, status 5
EventProof: eventId 1, leafIndex 2, treeSize 3, entry 4, open 5, closed 6, groups 7, hashes 8, checkpoint 9
EventRedaction: fields 1, reason 2
EventRetention: policyId 1, expiresAt 2, legalHold 3
EventStream: streamId 1, tenantId 2, status 3, metadata 4, eventCount 5, firstSequence 6, lastSequence 7, createdAt 8, sealedAt 9, previousStreamId 10, hashChain 11
EventsServiceExplainRequest: eventId 1
EventsServiceExplainResponse: eventExplanation 1
EventsServiceGetRequest: eventId 1, includeRelatedEntities 2
EventsServiceGetResponse: storedEvent 1
EventsServiceIngestBatchRequest: batch 1
EventsServiceIngestBatchResponse: batchResult 1
EventsServiceIngestRequest: event 1
EventsServiceIngestResponse: ingestReceipt 1
EventsServiceIngestStreamRequest: batch 1, idempotencyKey 2
EventsServiceIngestStreamResponse: index 1, answer 2, batchResult 3, error 4
EventsServiceListRequest: tenantId 1, actorId 2, actorType 3, action 4, resourceId 5, resourceType 6, classification 7, outcome 8, correlationId 9, streamId 10, kind 11, startTime 12, endTime 13, q 14, sort 15, limit 16, cursor 17
EventsServiceListResponse: data 1, pagination 2
EventsServiceProveRequest: eventId 1
EventsServiceProveResponse: eventProof 1
EventsServiceRedactRequest: eventId 1, redaction 2
EventsServiceRedactResponse: redactionAnswer 1
EventsServiceSearchRequest: search 1
EventsServiceSearchResponse: searchAnswer 1
EventsServiceTailRequest: fromSequence 1
EventsServiceTailResponse: streamEvent 1
Export: exportId 1, tenantId 2, name 3, status 4, progress 5, criteria 6, format 7, compression 8, contentColumns 9, includeProofs 10, destination 11, schedule 12, requestedAt 13, requestedBy 14, startedAt 15, completedAt 16, eventCount 17, fileSize 18, checksum 19, downloadUrl 20, expiresAt 21, failureReason 22, errorDetails 23, retriable 24, deliveries 25
ExportCriteria: query 1, filters 2, conditions 3, sort 4
ExportDelivery: deliveryId 1, exportId 2, status 3, destination 4, bytesTransferred 5, location 6, failureReason 7
ExportDestination: type 1, host 2, port 3, path 4, username 5, password 6, privateKey 7, hostKeyFingerprint 8, provider 9, endpoint 10, region 11, bucket 12, prefix 13, accessKeyId 14, secretAccessKey 15
ExportPlace: scheduleId 1, number 2
ExportProgress: percent 1, processedEvents 2, totalEvents 3, eventsPerSecond 4, estimatedCompletionAt 5
ExportReceipt: exportId 1, status 2, progress 3, requestedAt 4
ExportRequest: name 1, criteria 2, searchCriteria 3, format 4, compression 5, contentColumns 6, includeProofs 7, destination 8
ExportSchedulesServiceCreateRequest: schedule 1
ExportSchedulesServiceCreateResponse: schedule 1, etag 2
ExportSchedulesServiceDeleteRequest: scheduleId 1, ifMatch 2
ExportSchedulesServiceGetRequest: scheduleId 1
ExportSchedulesServiceGetResponse: schedule 1, etag 2
ExportSchedulesServiceListRequest: limit 1, cursor 2
ExportSchedulesServiceListResponse: data 1, pagination 2
ExportSchedulesServiceReplaceRequest: scheduleId 1, ifMatch 2, changes 3
ExportSchedulesServiceReplaceResponse: schedule 1, etag 2
ExportsServiceCreateRequest: export 1
ExportsServiceCreateResponse: exportReceipt 1
ExportsServiceDeleteRequest: exportId 1
ExportsServiceDeliverRequest: exportId 1, delivery 2
ExportsServiceDeliverResponse: exportDelivery 1
ExportsServiceGetRequest: exportId 1
ExportsServiceGetResponse: export 1
ExportsServiceListRequest: status 1, tenantId 2, createdAfter 3, limit 4, cursor 5
ExportsServiceListResponse: data 1, pagination 2
ExportsServiceRetryRequest: exportId 1
ExportsServiceRetryResponse: exportReceipt 1
HashChain: algorithm 1, genesisHash 2, headHash 3, treeSize 4, rootHash 5, checkpoint 6
HealthEntry: status 1, description 2, duration 3, exception 4
HoldRange: fromSequence 1, toSequence 2
HoldRelease: reason 1
HoldRequest: name 1, reason 2, conditions 3, range 4
HoldsServiceCreateRequest: hold 1
HoldsServiceCreateResponse: legalHold 1
HoldsServiceGetRequest: holdId 1
HoldsServiceGetResponse: legalHold 1
HoldsServiceListRequest: status 1, limit 2, cursor 3
HoldsServiceListResponse: data 1, pagination 2
HoldsServiceReleaseRequest: holdId 1, release 2
HoldsServiceReleaseResponse: legalHold 1
IngestReceipt: eventId 1, tenantId 2, status 3, timestamp 4, message 5, idempotent 6
IssuedKey: keyId 1, tenantId 2, name 3, roles 4, scopes 5, clearance 6, status 7, createdAt 8, createdBy 9, expiresAt 10, allowedNetworks 11, rotatedFrom 12, lastUsedAt 13, key 14
KeyRequest: name 1, tenantId 2, roles 3, scopes 4, clearance 5, expiresAt 6, allowedNetworks 7
KeyRotation: gracePeriod 1
LegalHold: holdId 1, tenantId 2, name 3, reason 4, conditions 5, range 6, status 7, heldEvents 8, createdAt 9, createdBy 10, releasedAt 11, releasedBy 12, releaseReason 13
MatchedValue: field 1, value 2
Metric: name 1, type 2, help 3, samples 4
MetricSample: suffix 1, labels 2, value 3
MetricsReport: collectedAt 1, indicators 2, metrics 3
MetricsServiceGetResponse: metricsReport 1
NewSubscription: subscriptionId 1, tenantId 2, name 3, url 4, eventTypes 5, filters 6, headers 7, active 8, timeoutSeconds 9, retry 10, retryClientErrors 11, clearance 12, ordered 13, tls 14, status 15, circuit 16, createdAt 17, createdBy 18, updatedAt 19, secret 20
NodeStatus: name 1, version 2, startedAt 3, lastSeenAt 4, status 5, shares 6, isSelf 7
OpenUnit: path 1, salt 2, value 3
OperationsServiceConfirmRequest: operationId 1
OperationsServiceConfirmResponse: confirmation 1
OperationsServiceGetRequest: operationId 1
OperationsServiceGetResponse: backgroundOperation 1
Pagination: total 1, totalRelation 2, limit 3, cursor 4, previousCursor 5, hasMore 6
Percentiles: p50 1, p95 2, p99 3
PoliciesServiceAddRuleRequest: policyId 1, ifMatch 2, rule 3
PoliciesServiceAddRuleResponse: rule 1, etag 2
PoliciesServiceCreateRequest: policy 1
PoliciesServiceCreateResponse: policy 1, etag 2
PoliciesServiceDeleteRequest: policyId 1, ifMatch 2
PoliciesServiceGetRequest: policyId 1
PoliciesServiceGetResponse: policy 1, etag 2
PoliciesServiceGetVersionRequest: policyId 1, version 2
PoliciesServiceGetVersionResponse: policy 1
PoliciesServiceListRequest: policyType 1, status 2, active 3, limit 4, cursor 5
PoliciesServiceListResponse: data 1, pagination 2
PoliciesServiceListTemplatesRequest: limit 1, cursor 2
PoliciesServiceListTemplatesResponse: data 1, pagination 2
PoliciesServiceListVersionsRequest: policyId 1, limit 2, cursor 3
PoliciesServiceListVersionsResponse: data 1, pagination 2
PoliciesServiceRemoveRuleRequest: policyId 1, ruleId 2, ifMatch 3
PoliciesServiceRemoveRuleResponse: etag 1
PoliciesServiceReplaceRequest: policyId 1, ifMatch 2, policy 3
PoliciesServiceReplaceResponse: policy 1, etag 2
PoliciesServiceValidateRequest: policy 1
PoliciesServiceValidateResponse: policyValidation 1
Policy: policyId 1, tenantId 2, name 3, description 4, policyType 5, status 6, active 7, version 8, priority 9, rules 10, createdAt 11, createdBy 12, updatedAt 13, updatedBy 14
PolicyConfiguration: name 1, description 2, policyType 3, status 4, active 5, priority 6, rules 7
PolicyImpact: sampledEvents 1, matchedEvents 2, sampleEventIds 3
PolicyPreview: policyId 1, policyName 2, events 3
PolicyTemplate: templateId 1, name 2, framework 3, description 4, policy 5
PolicyTrial: name 1, description 2, policyType 3, status 4, active 5, priority 6, rules 7, timeRange 8
PolicyValidation: valid 1, errors 2, warnings 3, impact 4
PolicyViolation: violationId 1, kind 2, eventId 3, policyId 4, policyName 5, policyVersion 6, ruleId 7, violationType 8, severity 9, detectedAt 10, fields 11, groupKey 12, observedValue 13, threshold 14, status 15, acknowledgedBy 16, comment 17
Progress: percent 1, processedEvents 2, totalEvents 3
ProjectionStatus: name 1, generation 2, position 3, lagMs 4, rebuilding 5
ProjectionsServiceRebuildRequest: rebuild 1
ProjectionsServiceRebuildResponse: backgroundOperation 1
RateLimitsServiceReplenishResponse: replenishment 1
RebuildRequest: projections 1, tenantId 2
Recovery: operationId 1, subscriptionId 2, since 3, queuedDeliveries 4
RecoveryRequest: since 1
RedactionAnswer: redactionReceipt 1, awaitingConfirmation 2
RedactionReceipt: eventId 1, fields 2, noticeId 3, redactedAt 4
RedactionRequest: fields 1, reason 2
RelatedEntity: relation 1, eventId 2, action 3, timestamp 4
Replenishment: replenishedAt 1, limiters 2
ReprocessRequest: source 1, subscriptionId 2, status 3
Reprocessed: count 1
Resource: resourceType 1, resourceId 2, resourceName 3
RetentionExplanation: value 1, rules 2, holdIds 3
RetentionPreview: until 1, byPolicy 2, heldEvents 3
RetentionServicePreviewRequest: until 1
RetentionServicePreviewResponse: retentionPreview 1
RetryPatch: strategy 1, initialDelay 2, maxDelay 3, nullMembers 4
RetryRule: strategy 1, initialDelay 2, maxDelay 3
RotatedSecret: subscriptionId 1, secret 2, previousSecretExpiresAt 3
Rule: ruleId 1, name 2, enabled 3, conditions 4, effect 5
RuleConfiguration: ruleId 1, name 2, enabled 3, conditions 4, effect 5
RuleEffect: classification 1, redactFields 2, retentionPeriod 3, legalHold 4, access 5, roles 6, maxClassification 7, violationType 8, severity 9, threshold 10
RuleMatch: policyId 1, policyName 2, policyVersion 3, ruleId 4, decided 5, values 6
Schedule: scheduleId 1, tenantId 2, name 3, every 4, criteria 5, format 6, contentColumns 7, destination 8, active 9, createdAt 10, createdBy 11, updatedAt 12, nextRunAt 13, lastRun 14
ScheduleChange: name 1, every 2, destination 3, active 4, criteria 5, format 6, contentColumns 7
ScheduleRequest: name 1, every 2, criteria 3, format 4, contentColumns 5, destination 6, fromSequence 7, active 8
ScheduleRun: number 1, exportId 2, status 3, fromSequence 4, toSequence 5, manifest 6
SearchAnswer: results 1, totalCount 2, totalCountRelation 3, nextCursor 4, hasMore 5, aggregations 6, aggregationsRelation 7, metadata 8
SearchFilters: actorIds 1, actorTypes 2, actions 3, resourceTypes 4, resourceIds 5, timeRange 6, classifications 7, outcomes 8, correlationIds 9, streamIds 10, kinds 11
SearchHit: eventId 1, tenantId 2, kind 3, sequence 4, timestamp 5, receivedAt 6, correlationId 7, actor 8, action 9, resource 10, classification 11, outcome 12, context 13, payload 14, submittedBy 15, redaction 16, retention 17, integrity 18, score 19, highlights 20, relatedEntities 21
SearchMetadata: queryTimeMs 1, indexVersion 2, projectionLagMs 3, truncated 4
SearchPaging: limit 1, cursor 2
SearchRequest: query 1, filters 2, sort 3, pagination 4, aggregations 5
SearchSort: field 1, order 2
SecretRotation: gracePeriod 1
ServiceIndicators: ingestLatencyMs 1, queryLatencyMs 2, projectionLagMs 3, deadLetters 4, eventsAccepted 5, deliveriesWaiting 6, exportsWaiting 7
ServiceLevel: name 1, unit 2, target 3, window 4, current 5, holds 6
ServiceStatus: status 1, version 2, commit 3, startedAt 4, uptime 5, components 6, projections 7, metrics 8, serviceLevels 9, apiVersions 10, nodes 11
ShownDestination: type 1, host 2, port 3, path 4, username 5, provider 6, endpoint 7, region 8, bucket 9, prefix 10
ShownSubscriptionTls: ca 1, certificate 2
StatusServiceGetResponse: serviceStatus 1
StoredEvent: auditEvent 1, tombstone 2
StreamEvent: auditEvent 1, withheldEvent 2
StreamVerdict: verified 1, firstSequence 2, lastSequence 3, checkedEvents 4, expiredEvents 5, redactedEvents 6, treeSize 7, rootHash 8, fault 9, verifiedAt 10
StreamVerification: streamId 1, operationId 2, status 3, progress 4, requestedAt 5, requestedBy 6, startedAt 7, completedAt 8, failureReason 9, verdict 10
StreamsServiceGetRequest: streamId 1
StreamsServiceGetResponse: eventStream 1
StreamsServiceGetVerificationRequest: streamId 1, operationId 2
StreamsServiceGetVerificationResponse: streamVerification 1
StreamsServiceListEventsRequest: streamId 1, fromSequence 2, toSequence 3, limit 4, cursor 5
StreamsServiceListEventsResponse: data 1, pagination 2
StreamsServiceListRequest: status 1, limit 2, cursor 3
StreamsServiceListResponse: data 1, pagination 2
StreamsServiceSealRequest: streamId 1
StreamsServiceSealResponse: eventStream 1
StreamsServiceVerifyRequest: streamId 1, range 2
StreamsServiceVerifyResponse: streamVerification 1
StringList: values 1
Subscription: subscriptionId 1, tenantId 2, name 3, url 4, eventTypes 5, filters 6, headers 7, active 8, timeoutSeconds 9, retry 10, retryClientErrors 11, clearance 12, ordered 13, tls 14, status 15, circuit 16, createdAt 17, createdBy 18, updatedAt 19
SubscriptionConfiguration: name 1, url 2, eventTypes 3, secret 4, filters 5, headers 6, active 7, timeoutSeconds 8, retry 9, retryClientErrors 10, ordered 11, tls 12, clearance 13
SubscriptionPatch: name 1, url 2, eventTypes 3, secret 4, filters 5, headers 6, active 7, timeoutSeconds 8, retry 9, retryClientErrors 10, ordered 11, tls 12, clearance 13, nullMembers 14
SubscriptionTls: ca 1, certificate 2, key 3
SubscriptionsServiceCreateRequest: subscription 1
SubscriptionsServiceCreateResponse: newSubscription 1, etag 2
SubscriptionsServiceDeleteRequest: subscriptionId 1, ifMatch 2
SubscriptionsServiceGetRequest: subscriptionId 1
SubscriptionsServiceGetResponse: subscription 1, etag 2
SubscriptionsServiceListRequest: status 1, limit 2, cursor 3
SubscriptionsServiceListResponse: data 1, pagination 2
SubscriptionsServicePauseRequest: subscriptionId 1
SubscriptionsServicePauseResponse: subscription 1, etag 2
SubscriptionsServiceRecoverRequest: subscriptionId 1, recovery 2
SubscriptionsServiceRecoverResponse: recovery 1
SubscriptionsServiceReplaceRequest: subscriptionId 1, ifMatch 2, subscription 3
SubscriptionsServiceReplaceResponse: subscription 1, etag 2
SubscriptionsServiceResumeRequest: subscriptionId 1
SubscriptionsServiceResumeResponse: subscription 1, etag 2
SubscriptionsServiceRotateSecretRequest: subscriptionId 1, rotation 2
SubscriptionsServiceRotateSecretResponse: rotatedSecret 1
SubscriptionsServiceTestRequest: subscriptionId 1
SubscriptionsServiceTestResponse: testDelivery 1
SubscriptionsServiceUpdateRequest: subscriptionId 1, ifMatch 2, patch 3
SubscriptionsServiceUpdateResponse: subscription 1, etag 2
Tenant: tenantId 1, tier 2, region 3, status 4, defaultClassification 5, defaultRetention 6, fourEyes 7, version 8, createdAt 9, updatedAt 10
TenantRequest: tenantId 1, tier 2, region 3, status 4, defaultClassification 5, defaultRetention 6, fourEyes 7
TenantSettings: tier 1, region 2, status 3, defaultClassification 4, defaultRetention 5, fourEyes 6, nullMembers 7
TenantsServiceCreateRequest: tenant 1
TenantsServiceCreateResponse: tenant 1, etag 2
TenantsServiceGetRequest: tenantId 1
TenantsServiceGetResponse: tenant 1, etag 2
TenantsServiceListRequest: status 1, limit 2, cursor 3
TenantsServiceListResponse: data 1, pagination 2
TenantsServiceReplaceRequest: tenantId 1, ifMatch 2, settings 3
TenantsServiceReplaceResponse: tenant 1, etag 2
TestDelivery: webhookId 1, delivered 2, attempt 3
TimeRange: from 1, to 2
TlsPatch: ca 1, certificate 2, key 3, nullMembers 4
Tombstone: eventId 1, tenantId 2, kind 3, sequence 4, receivedAt 5, purgedAt 6, integrity 7
VerificationFault: sequence 1, reason 2, message 3
VerifyRange: fromSequence 1, toSequence 2
ViolationsServiceAcknowledgeRequest: violationId 1, acknowledgement 2
ViolationsServiceAcknowledgeResponse: policyViolation 1
ViolationsServiceGetRequest: violationId 1
ViolationsServiceGetResponse: policyViolation 1
ViolationsServiceListRequest: policyId 1, severity 2, violationType 3, status 4, startTime 5, endTime 6, limit 7, cursor 8
ViolationsServiceListResponse: data 1, pagination 2
WithheldEvent: sequence 1, eventId 2, withheld 3, integrity 4
enum AccessDecision: Allow 1, Deny 2
enum ActorType: User 1, Service 2, System 3
enum Aggregation: byAction 1, byActor 2, byResource 3, byClassification 4, byDay 5, byHour 6, byActorType 7, byOutcome 8
enum ApiVersion: v1 1, v2 2
enum AwaitingStatus: AwaitingConfirmation 1
enum BackgroundOperationKind: ProjectionRebuild 1, Redaction 2, Erasure 3, Recovery 4
enum BatchItemStatus: Accepted 1, Duplicate 2, Rejected 3, NotProcessed 4
enum BatchStatus: Completed 1, PartialSuccess 2, Failed 3
enum CircuitState: Closed 1, Open 2, HalfOpen 3
enum Classification: Public 1, Internal 2, Confidential 3, Secret 4
enum DeadLetterSource: Webhook 1, Projection 2, Export 3
enum DeadLetterStatus: Held 1, Reprocessing 2
enum DeliveryStatus: Queued 1, RetryScheduled 2, Acknowledged 3, DeadLettered 4
enum DestinationType: Download 1, Sftp 2, ObjectStorage 3
enum EventKind: Event 1, Notice 2
enum EventOutcome: Success 1, Failure 2, Denied 3
enum ExportCompression: None 1, Zip 2, Gzip 3
enum ExportDeliveryStatus: Pending 1, InProgress 2, Delivered 3, Failed 4
enum ExportFailureReason: CriteriaInvalid 1, RetentionPurged 2, StorageFull 3, StorageError 4, Timeout 5, PermissionLost 6, Internal 7
enum ExportFormat: JSON 1, CSV 2, XML 3, NDJSON 4
enum HealthStatus: Healthy 1, Degraded 2, Unhealthy 3
enum HoldStatus: Active 1, Released 2
enum IntegrityStatus: Chained 1, Checkpointed 2, Witnessed 3
enum JobStatus: Pending 1, Processing 2, Completed 3, Failed 4
enum KeyStatus: Active 1, Expired 2, Revoked 3
enum LifecycleState: Active 1, Deprecated 2, Sunset 3, Retired 4
enum MetricType: Counter 1, Gauge 2, Histogram 3, Summary 4
enum NodeState: Serving 1, Gone 2
enum ObjectStorageProvider: S3 1
enum OperationStatus: AwaitingConfirmation 1, Pending 2, Processing 3, Completed 4, Failed 5
enum PolicyStatus: Draft 1, Active 2, Inactive 3, Deleted 4
enum PolicyType: Classification 1, Retention 2, Access 3, Alert 4
enum RedactionReason: ClassificationAboveClearance 1, AccessPolicy 2, RedactedAtRest 3
enum Relation: SameCorrelation 1, SameResource 2, SameActor 3
enum RetryStrategy: Schedule 1, Exponential 2
enum RoleName: Admin 1, Operator 2, Auditor 3, Viewer 4
enum SchedulePeriod: Hour 1, Day 2, Month 3
enum SearchSortField: timestamp 1, eventId 2, action 3, relevance 4
enum ServiceLevelName: Availability 1, IngestLatencyP95 2, IngestLatencyP99 3, QueryLatencyP95 4, QueryLatencyP99 5, ProjectionLagP95 6, ProjectionLagP99 7
enum ServiceLevelUnit: Ratio 1, Milliseconds 2
enum SettablePolicyStatus: Draft 1, Active 2, Inactive 3
enum Severity: Low 1, Medium 2, High 3, Critical 4
enum SortOrder: asc 1, desc 2
enum StreamStatus: Open 1, Sealed 2, Purged 3
enum SubscriptionStatus: Active 1, Paused 2, Failed 3
enum TenantStatus: Active 1, Suspended 2, Closed 3
enum TenantTier: Standard 1, Premium 2
enum TotalRelation: Exact 1, AtLeast 2, Approximate 3
enum ViolationKind: Violation 1, Threshold 2
enum ViolationStatus: Open 1, Acknowledged 2
enum WithheldReason: Clearance 1, Purged 2, Altered 3
`;
