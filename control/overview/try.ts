import { request, type IncomingMessage } from 'node:http'
import { Type, type Static } from 'typebox'
import { convert, NotConvertible } from '../../pipelines/markdown/index.js'
import { leftOut } from '../../pipelines/markdown/left-out-report.js'
import { InvalidInput } from '../../src/core/errors.js'
import { strict } from '../../src/core/schema.js'
import { ApiError } from '../http/errors.js'
import { ACCOUNT_ONLY, endpoint, type Endpoint } from '../http/endpoint.js'
import { covers } from '../zones/hostname-match.js'
import type { OverviewDeps } from './services.js'

/** Conversion runs on the thread of the API: about 30 ms for this many bytes. */
const MAX_HTML_BYTES = 1024 * 1024
/** The report takes up to three further passes over the page. */
const MAX_REPORTED_BYTES = 256 * 1024
const MAX_BODY_BYTES = 1024 * 1024
const TIMEOUT_MS = 30_000

const ConvertInput = Type.Object(
  {
    html: Type.String({ description: 'The page.' }),
    content: Type.Optional(
      Type.Enum(['page', 'main'], { default: 'page', description: 'Which part of the page is converted.' }),
    ),
    links: Type.Optional(Type.Boolean({ default: true, description: 'False: link texts without targets.' })),
  },
  strict,
)
const Converted = Type.Object({
  markdown: Type.String(),
  tokens: Type.Integer({ description: 'Estimate: one token for four bytes.' }),
  html_bytes: Type.Integer(),
  markdown_bytes: Type.Integer(),
  left_out: Type.Array(
    Type.Object({
      what: Type.String({ description: 'A tag, or the begin of a block.' }),
      reason: Type.String(),
      count: Type.Integer(),
    }),
    {
      description: `What the Markdown does not have: at most 100 elements and 100 blocks; none for HTML above ${MAX_REPORTED_BYTES} bytes.`,
    },
  ),
})

const TryInput = Type.Object(
  {
    host: Type.Optional(
      Type.String({
        maxLength: 253,
        pattern: '^[A-Za-z0-9._-]+$',
        description: 'A host name of the zone. Default: its name.',
      }),
    ),
    path: Type.Optional(
      Type.String({ default: '/', maxLength: 8192, pattern: '^/[!-~]*$', description: 'Path and query.' }),
    ),
    accept: Type.Optional(
      Type.String({ default: 'text/html', maxLength: 1024, pattern: '^[ -~]*$', description: 'Field Accept.' }),
    ),
  },
  strict,
)
const Tried = Type.Object({
  status: Type.Integer(),
  headers: Type.Array(Type.Object({ name: Type.String(), value: Type.String() }), {
    description: 'As the client gets them; fields after the body follow at the end.',
  }),
  body: Type.String({ description: 'Read as UTF-8.' }),
  body_bytes: Type.Integer(),
  truncated: Type.Boolean({ description: `The body is longer than ${MAX_BODY_BYTES} bytes.` }),
  milliseconds: Type.Number(),
})

/** Trial requests to a zone through the proxy, and trial conversions. */
export function tries({ config, clock, overview }: OverviewDeps): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: '/edged/convert',
      scopes: ACCOUNT_ONLY,
      permissions: ['Zone Read'],
      summary: 'Convert HTML to Markdown as the proxy would',
      body: ConvertInput,
      // JSON escapes can double the size.
      maxBytes: 2 * MAX_HTML_BYTES,
      result: Converted,
      handle({ body: { html, content = 'page', links = true } }) {
        const html_bytes = Buffer.byteLength(html)
        if (html_bytes > MAX_HTML_BYTES)
          throw new InvalidInput([{ pointer: '/html', message: `must have at most ${MAX_HTML_BYTES} bytes` }])
        const markdown = converted(html, { content, links })
        const markdown_bytes = Buffer.byteLength(markdown)
        return {
          markdown,
          tokens: Math.ceil(markdown_bytes / 4),
          html_bytes,
          markdown_bytes,
          left_out: html_bytes <= MAX_REPORTED_BYTES ? leftOut(html, content) : [],
        }
      },
    }),
    endpoint({
      method: 'post',
      path: '/edged/try',
      scopes: ['zone'],
      permissions: ['Allow Request Tracer Read'],
      summary: 'Send a GET request for a host of the zone through the proxy, and return the response',
      body: TryInput,
      result: Tried,
      async handle({ scope, body: { path = '/', accept = 'text/html', host } }) {
        const zone = config().zones.find(({ id }) => id === scope.id)
        if (!zone) throw new ApiError('notVisible')
        const asked = (host ?? zone.name).toLowerCase()
        const patterns = zone.hostnames ?? [zone.name, `*.${zone.name}`]
        if (!patterns.some((pattern) => pattern === '*' || pattern === asked || covers(pattern, asked)))
          throw new InvalidInput([
            { pointer: '/host', message: `${JSON.stringify(asked)} is not a host name of the zone` },
          ])
        const started = clock.monotonic()
        const response = await ask(overview().proxy(), { path, accept, host: asked })
        return { ...response, milliseconds: Math.round((clock.monotonic() - started) * 10) / 10 }
      },
    }),
  ]
}

function converted(html: string, options: { content: 'page' | 'main'; links: boolean }): string {
  try {
    return convert(html, options)
  } catch (error) {
    if (!(error instanceof NotConvertible)) throw error
    throw new InvalidInput([{ pointer: '/html', message: error.message }])
  }
}

type Response = Omit<Static<typeof Tried>, 'milliseconds'>

async function ask(
  proxy: string,
  { path, accept, host }: { path: string; accept: string; host: string },
): Promise<Response> {
  const headers = { host, accept, te: 'trailers', 'user-agent': 'edged-try', 'accept-encoding': 'identity' }
  // Concatenated: a path such as //host must stay a path.
  const { hostname, port } = new URL(proxy)
  return await new Promise((resolve, reject) => {
    const failed = (error: Error) =>
      reject(new ApiError('unavailable', undefined, `the proxy did not respond: ${error.message}`))
    const address = hostname.replace(/^\[|\]$/g, '').replace(/^0\.0\.0\.0$/, '127.0.0.1')
    const sent = request({ host: address, port, path, headers, agent: false, timeout: TIMEOUT_MS }, (response) => {
      readResponse(response).then(resolve, failed)
    })
    sent.on('timeout', () => sent.destroy(new Error(`no response within ${TIMEOUT_MS / 1000} s`)))
    sent.on('error', failed)
    sent.end()
  })
}

async function readResponse(response: IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size > MAX_BODY_BYTES) break
  }
  return {
    status: response.statusCode ?? 0,
    headers: [...pairs(response.rawHeaders), ...pairs(response.rawTrailers)],
    body: Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES).toString(),
    body_bytes: Math.min(size, MAX_BODY_BYTES),
    truncated: size > MAX_BODY_BYTES,
  }
}

const pairs = (raw: readonly string[]): { name: string; value: string }[] =>
  raw.flatMap((name, i) => (i % 2 === 0 ? { name, value: raw[i + 1] ?? '' } : []))
