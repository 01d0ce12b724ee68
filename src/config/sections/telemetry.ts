import { Type } from 'typebox'
import { strict } from '../../core/schema.js'

/** Section `telemetry`. */
export const Telemetry = Type.Object(
  {
    otlp: Type.Union([Type.String({ pattern: '^https?://[^/]', maxLength: 2048 }), Type.Null()], {
      default: null,
      description:
        'Base URL of an OTLP/HTTP collector, for example http://127.0.0.1:4318. It receives traces of requests, API calls and deliveries as JSON at /v1/traces. null: none.',
      'x-message': 'must be an http or https URL, or null',
    }),
    sample: Type.Number({
      default: 0.01,
      minimum: 0,
      maximum: 1,
      description:
        'Share of requests that are traced. Requests with a sampled traceparent are traced too: at most 50 per second together with API calls and deliveries, without limit from trusted proxies.',
    }),
  },
  { ...strict, default: {}, description: 'Traces. W3C traceparent is passed on to origins and Workers.' },
)
