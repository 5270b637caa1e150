// The headers of REST that belong to no single operation, by direction, with a line for the reference and OpenAPI.

export const REQUEST_HEADERS = {
  'X-Tenant-Id': 'The tenant. Needed unless a bearer token names it.',
  Authorization: '`Bearer <token>`.',
  'X-API-Key': 'An API key, instead of a token.',
  'X-Correlation-Id': 'Carried through and sent back; made when absent.',
  'Idempotency-Key': 'Makes a POST or PUT safe to repeat for 24 hours.',
  'If-None-Match': 'ETags the caller has; a read whose answer has one of them is 304 without a body.',
  'X-Version':
    'The version, for paths without one. `api-version` in the query and `Accept; ver=` do the same.',
  traceparent: 'W3C trace context.',
} as const;

export const ANSWER_HEADERS = {
  'X-Correlation-Id': 'The correlation id of the request.',
  'api-supported-versions': 'All versions that are served.',
  Location: 'The path of what was made.',
  ETag: 'The version of the representation; for `If-None-Match` and `If-Match`.',
  'Cache-Control': 'Who may keep the answer, and how long; `no-store` unless the operation says otherwise.',
  Link: 'The next and the previous page of a list.',
  'X-Event-Id': 'The id of the event.',
  'X-Projection-Lag-Ms': 'How far the projection that answered is behind the log.',
  'Accept-Ranges': '`bytes`: a download can be taken up where it broke off.',
  'Content-Range': 'Which bytes of the file these are.',
  'Content-Disposition': 'The name of a file.',
  'X-RateLimit-Limit': 'Permits in a window of the limiter that is nearest to its end.',
  'X-RateLimit-Remaining': 'Permits left in it.',
  'X-RateLimit-Reset': 'When it starts again, in Unix seconds.',
  'Retry-After': 'Seconds to wait before the request is worth repeating.',
  'X-API-Deprecated': '`true` when the version is deprecated.',
  'X-API-Deprecation-Date': 'Since when.',
  'X-API-Sunset-Date': 'When it will stop accepting writes.',
  Deprecation: 'The date of `X-API-Deprecation-Date`, as RFC 9745 writes it.',
  Sunset: 'The date of `X-API-Sunset-Date`, as RFC 8594 writes it.',
  'WWW-Authenticate': '`Bearer`, with a 401.',
} as const;

export type AnswerHeader = keyof typeof ANSWER_HEADERS;
