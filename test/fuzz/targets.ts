/** Readers of bytes from strangers. Each may reject an input in its own way; anything else that it throws is a fault. */
import { convert, NotConvertible } from '../../pipelines/markdown/index.js'
import { compileFilter, DATASETS, parseTemplate, TemplateError } from '../../pipelines/records/index.js'
import { decodeRequest, MalformedProtobuf } from '../../pipelines/sources/listeners/otlp-protobuf.js'
import { logRecords, NotLogs, TooLarge } from '../../pipelines/sources/listeners/otlp-records.js'
import { InvalidInput } from '../../src/core/errors.js'
import { Framing } from '../../src/edge/client/framing.js'
import { compile, ExprError, parse, UNLIMITED } from '../../src/expr/index.js'
import { boundaryOf, partsOf } from '../../src/rules/fields/multipart.js'
import type { Random } from '../simulator/random.js'

export interface Target {
  readonly seeds: readonly string[]
  /** Throws if the reader has a fault. */
  readonly run: (input: Buffer, random: Random) => void | Promise<void>
}

type Rejections = readonly (abstract new (...given: never[]) => Error)[]

/** Runs a reader whose rejections are no faults. */
function allowing(rejections: Rejections, work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!rejections.some((rejection) => error instanceof rejection)) throw error
  }
}

export const TARGETS: Readonly<Record<string, Target>> = {
  request: {
    seeds: [
      'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
      'POST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a="b"\r\nhello\r\n0\r\nX: y\r\n\r\n',
    ],
    run(input, random) {
      const whole = requestsIn([input])
      const cuts = [random.below(input.length + 1), random.below(input.length + 1)].sort((a, b) => a - b)
      const pieces = [input.subarray(0, cuts[0]), input.subarray(cuts[0], cuts[1]), input.subarray(cuts[1])]
      const cut = requestsIn(pieces)
      if (whole !== cut) throw new Error(`read in pieces, at ${cuts.join(' and ')}: ${cut}; as a whole: ${whole}`)
    },
  },
  expression: {
    seeds: [
      'http.host eq "a" and ip.src in {192.0.2.0/24 2001:db8::/32}',
      'http.request.uri.path matches "^/[a-z]+(?:x|y)*$" or not ssl',
      'any(http.request.headers["a"][*] contains "b") && len(http.cookie) > 3',
      'starts_with(lower(http.user_agent), "x") xor http.request.uri.path wildcard r"*/a?"',
    ],
    run: (input) => allowing([ExprError], () => void compile(parse(input.toString()))),
  },
  filter: {
    seeds: [
      '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}',
      '{"where":{"and":[{"key":"ClientIP","operator":"in","value":["192.0.2.1"]},{"or":[{"key":"RayID","operator":"contains","value":"a"}]}]}}',
      '{"where":{"not":{"key":"ClientRequestURI","operator":"startsWith","value":"/"}}}',
    ],
    run: (input) => allowing([InvalidInput], () => void compileFilter(HTTP_REQUESTS, input.toString())),
  },
  template: {
    seeds: ['{"a":{{.RayID}},"b":"{{.ClientIP}}"}', '{{ .a }} {{./user/email}}{{', '{{- .a -}}'],
    run: (input) => allowing([TemplateError], () => void parseTemplate(input.toString())),
  },
  html: {
    seeds: [
      '<!doctype html><title>a</title><main><h1>b</h1><p>c <a href="/d">e</a><ul><li>f<li>g</ul>',
      '<table><tr><th>a<td>b</table><pre><code>c\n</code></pre><svg><p>d</svg><!--e--><script>f</script>',
      '<p>a &amp; &#x62; <b><i>c</b></i><img src=x alt="y"><br><blockquote>d',
    ],
    run: (input) => allowing([NotConvertible], () => void convert(input.toString('latin1'))),
  },
  multipart: {
    seeds: [
      '--b\r\nContent-Disposition: form-data; name="a"; filename="c.txt"\r\nContent-Type: text/plain\r\n\r\nd\r\n--b--\r\n',
      '--b\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--b\r\n\r\n--b--',
    ],
    run(input) {
      const text = input.toString('latin1')
      boundaryOf(['content-type', `multipart/form-data; boundary=${text.slice(0, 80)}`])
      partsOf(text, 'b', UNLIMITED)
    },
  },
  otlp: {
    // One log record with a body, attributes and a resource.
    seeds: [
      '\n\u0019\n\b\n\u0006\n\u0001a\u0012\u0001\n\u0012\r\u0012\u000b*\u0003\n\u0001b2\u0004\n\u0002cd',
      '\n\u0000',
      '',
    ],
    async run(input) {
      try {
        for (const record of logRecords(await decodeRequest(input, async () => {}), 'event')) JSON.parse(record())
      } catch (error) {
        if (!(error instanceof MalformedProtobuf || error instanceof NotLogs || error instanceof TooLarge)) throw error
      }
    },
  },
}

const HTTP_REQUESTS = DATASETS.get('http_requests')!
const LIMITS = { header_bytes: 2048, header_count: 50, body_bytes: 1000 }

/** Returns what the reader of requests reads in the pieces, as a text. */
function requestsIn(pieces: readonly Buffer[]): string {
  const framing = new Framing(LIMITS)
  const read: string[] = []
  let body = ''
  for (const piece of pieces) {
    // The reader may move bytes within its chunk.
    let rest = Buffer.from(piece)
    while (rest.length > 0 && framing.issue === undefined) {
      const count = framing.scan(rest)
      if (framing.head !== undefined) {
        const { method, target, httpVersion, rawHeaders } = framing.head
        read.push(JSON.stringify([method, target, httpVersion, rawHeaders]))
      }
      body += framing.body?.toString('latin1') ?? ''
      rest = rest.subarray(count)
      if (!framing.complete) continue
      read.push(body)
      body = ''
      framing.next()
    }
  }
  return JSON.stringify([read, framing.issue === undefined ? body : framing.issue.detail])
}
