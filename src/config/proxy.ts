import { Type } from 'typebox'
import { strict } from '../core/schema.js'
import { ProxyTls } from './tls.js'
import { Duration, Size } from './units.js'
import { Count, Listen } from './values.js'

const ProxyLimits = Type.Object(
  {
    header_bytes: Size(
      '16KiB',
      'Request line and header fields of one request; larger ones get 431, a longer target 414.',
    ),
    header_count: Count(128, 'Header fields of one request; more get 431.'),
    header_timeout: Duration('10s', 'For all of the header fields to arrive.'),
    request_timeout: Duration('5m', 'For the whole request, body included, to arrive.'),
    keep_alive_timeout: Duration('75s', 'An idle connection stays open for this long.'),
    write_timeout: Duration(
      '60s',
      'A client that reads nothing of its response for this long is disconnected, even if it sends data. 0: no limit.',
    ),
    min_rate: Size(
      '1KiB',
      'Bytes per second. A request body that arrives slower for 10s gets 408; a client that reads a response slower for ' +
        'write_timeout is disconnected. 0B: no limit.',
    ),
    connections: Count(10_000, 'Open client connections; more are closed immediately.'),
    connections_per_address: Count(
      1000,
      'Open connections of one client address; more are closed immediately. Trusted proxies are not counted. 0: no limit.',
    ),
    body_bytes: Size('0B', 'Request body; larger ones get 413. 0B: no limit.'),
  },
  { ...strict, default: {}, description: 'Limits of requests and connections of clients.' },
)

const OriginLimits = Type.Object(
  {
    connect_timeout: Duration('5s', 'For the connection to an origin, TLS included.'),
    headers_timeout: Duration('60s', 'From the end of the request to the header fields of the response.'),
    body_timeout: Duration('100s', 'Between two reads of the response.'),
    keep_alive_timeout: Duration('4s', 'An idle connection to an origin stays open for this long.'),
    queue_timeout: Duration('30s', 'Maximum time that a request waits for a connection. Then it gets 503.'),
    header_bytes: Size('64KiB', 'Header fields of one response; larger ones become 502.'),
    connections: Type.Integer({
      minimum: 1,
      default: 256,
      description:
        'Open connections to one origin. If all are in use and other requests wait, the slowest clients below 32 KiB/s are disconnected.',
    }),
    queue_size: Count(4096, 'Maximum requests that wait for a connection to one origin. More get 503.'),
  },
  { ...strict, default: {}, description: 'Limits of connections and requests to one origin.' },
)

const Challenge = Type.Object(
  {
    difficulty: Type.Integer({
      minimum: 8,
      maximum: 24,
      default: 17,
      description: 'A browser makes 2 to the power of this many attempts, on average: 17 takes well under a second.',
    }),
    clearance_lifetime: Duration('30m', 'Time during which a visitor who passed is not challenged again.'),
  },
  { ...strict, default: {}, description: 'The proof of work of challenge rules.' },
)

/** The section `proxy`. */
export const Proxy = Type.Object(
  {
    listen: Listen('127.0.0.1:8080', 'Address of the reverse proxy. Port 0 takes a free one.'),
    tls: Type.Optional(ProxyTls),
    trusted_proxies: Type.Array(Type.String(), {
      default: [],
      description: 'CIDRs whose X-Forwarded-For and X-Forwarded-Proto are believed.',
    }),
    proxy_protocol: Type.Boolean({
      default: false,
      description:
        'Connections of trusted_proxies begin with a PROXY header, version 1 or 2, and are closed without one. The client ' +
        'address is taken from it. Other peers connect without a header.',
    }),
    trusted_fields: Type.Record(
      Type.String(),
      Type.String({ pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", 'x-message': 'must be the name of a header field' }),
      {
        default: {},
        description:
          'Fields of the rules language that trusted proxies send in header fields, as in ' +
          '{ cf.bot_management.score: x-bot-score }. Everyone else has these header fields removed.',
      },
    ),
    rules_body: Type.Object(
      {
        bytes: Size(
          '128KiB',
          'The beginning of a request body that rules can read, 1MiB at most; the rest streams past them.',
        ),
        memory: Size(
          '64MB',
          'For the bodies that rules read, all requests together; beyond it rules see less of a body, as truncated.',
        ),
      },
      { ...strict, default: {}, description: 'Request bodies are buffered only if a rule in force reads them.' },
    ),
    shutdown_delay: Duration(
      '0s',
      'After SIGTERM /readyz responds with 503 and the proxy continues for this long, so that a load balancer in front ' +
        'notices before the drain begins.',
    ),
    drain_timeout: Duration('30s', 'Time that requests in progress have to finish after SIGTERM.'),
    limits: ProxyLimits,
    origin: OriginLimits,
    max_rate_limit_keys: Type.Integer({
      minimum: 1,
      default: 1_000_000,
      description:
        'Keys that rate limits count, all rules together; a key is held once for each quarter of its period. Further ' +
        'keys share counters: they may be stopped too early, never too late.',
    }),
    challenge: Challenge,
    buffer_memory: Size(
      '128MB',
      'Buffers of all requests together for slow clients: the first 64 KiB of a request body before a connection to the ' +
        'origin is used, and the last 256 KiB of a response so that the connection is free again. Beyond it the ' +
        'connection waits for the client.',
    ),
    markdown_memory: Size(
      '256MB',
      'For pages that are buffered until their size is known, all requests together; beyond it a request gets the HTML.',
    ),
  },
  { ...strict, default: {}, description: 'The reverse proxy.' },
)
