/** Requests and responses that are wrong, or that servers read in different ways, from a seed. */
import { stream, type Random } from '../../simulator/random.js'

/** Bytes of one case. */
export interface Case {
  /** What the client sends, in these pieces. */
  readonly pieces: readonly Buffer[]
  /** Method of each request that it means to send. */
  readonly methods: readonly string[]
  /** What the origin responds to the first request. Undefined: it tells what it read. */
  readonly response?: Buffer
}

const CHARACTERS = [
  '\r',
  '\n',
  '\r\n',
  '\n\n',
  ' ',
  '\t',
  '\0',
  ':',
  ',',
  ';',
  '\u000b',
  '\f',
  '\u0085',
  '\u00a0',
  '"',
  '0',
  '-',
  '+',
]

const framings = (length: number): string[] => [
  `Content-Length: ${length}`,
  `Content-Length: 0`,
  `Content-Length: ${length}, ${length}`,
  `Content-Length: ${length}\r\nContent-Length: 0`,
  `Content-Length: +${length}`,
  `Content-Length: 0${length}`,
  `Content-Length: ${length} `,
  `Content-Length: 0x${length.toString(16)}`,
  `Content-Length: ${length}.0`,
  `Content-Length: -1`,
  `Content-Length: 18446744073709551616`,
  `Content-Length : ${length}`,
  `Content-Length:\r\n ${length}`,
  `Content-Length\t: ${length}`,
  `Content_Length: ${length}`,
  ` Content-Length: ${length}`,
  `X: y\nContent-Length: ${length}`,
  `X: y\rContent-Length: ${length}`,
  `Content-Length: ${length};a=b`,
  `Content-Length:`,
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: Chunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: identity, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding: chunked;q=1',
  'Transfer-Encoding:\u000bchunked',
  'Transfer-Encoding: \u0000chunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding:\r\n chunked',
  'Transfer-Encoding:\tchunked',
  ' Transfer-Encoding: chunked',
  'Transfer_Encoding: chunked',
  'Transfer-Encoding: ,chunked',
  'Transfer-Encoding: chunked,',
  'Transfer-Encoding:',
  'X: y\nTransfer-Encoding: chunked',
  'X: y\rTransfer-Encoding: chunked',
  'Foo\r\nTransfer-Encoding: chunked',
  'Connection: Content-Length',
  'Connection: close, Transfer-Encoding',
  'Connection: Host',
  'Connection: keep-alive',
  'Expect: 100-continue',
  'Expect: 200-ok',
  'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__',
  'Upgrade: websocket\r\nConnection: Upgrade',
  'TE: trailers',
  'Trailer: Content-Length',
]

const hosts = (host: string): string[] => [
  `Host: ${host.toUpperCase()}`,
  `Host: ${host}.`,
  `Host: ${host}:80`,
  `Host: ${host}:0`,
  `Host: ${host}:080`,
  `Host: ${host} `,
  `Host: ${host}\r\nHost: ${host}`,
  `Host: ${host}\r\nHost: other.test`,
  `Host: other.test\r\nHost: ${host}`,
  `Host: ${host}, other.test`,
  `Host: user@${host}`,
  `Host: ${host}/other.test`,
  `Host: ${host}?x`,
  `Host: ${host}#x`,
  `Host: ${host}\tother.test`,
  `Host : ${host}`,
  `Host:\r\n ${host}`,
  ` Host: ${host}`,
  'Host:',
  'X: y',
  `Host: ${host}\nX-Forwarded-Host: other.test`,
]

const targets = (path: string, host: string): string[] => [
  `/${path}`,
  `//${path}`,
  `/./${path}`,
  `/a/..${path}`,
  `/a/%2e%2e${path}`,
  `/%2e${path}`,
  `${path}#fragment`,
  `${path}%00`,
  `${path}%0d%0aX:%20y`,
  `${path};a=b`,
  `${path}?`,
  `${path}?a b`,
  `${path}\u00e9`,
  `${path}\\..\\x`,
  path.toUpperCase(),
  path.replace('/', '/%63lean/../'),
  `http://${host}${path}`,
  `http://other.test${path}`,
  `HTTP://${host.toUpperCase()}:80${path}`,
  `https://${host}${path}`,
  `http://user@${host}${path}`,
  `http://${host}`,
  `http:${path}`,
  `${host}:80`,
  '*',
  path.slice(1),
  `?${path}`,
]

const lines = (method: string, target: string): string[] => [
  `${method}  ${target} HTTP/1.1`,
  `${method}\t${target} HTTP/1.1`,
  `${method} ${target}  HTTP/1.1`,
  `${method} ${target} HTTP/1.1 `,
  `${method} ${target} HTTP/1.0`,
  `${method} ${target} HTTP/1.2`,
  `${method} ${target} HTTP/2.0`,
  `${method} ${target} HTTP/0.9`,
  `${method} ${target} http/1.1`,
  `${method} ${target} HTTP/1.10`,
  `${method} ${target} HTTP/01.1`,
  `${method} ${target}`,
  `${method.toLowerCase()} ${target} HTTP/1.1`,
  ` ${method} ${target} HTTP/1.1`,
  `\r\n${method} ${target} HTTP/1.1`,
  `\n${method} ${target} HTTP/1.1`,
  `${method}\u00a0 ${target} HTTP/1.1`,
  `CONNECT ${target} HTTP/1.1`,
  `TRACE ${target} HTTP/1.1`,
  `PRI * HTTP/2.0\r\n\r\nSM`,
]

const chunks = (text: string): string[] => {
  const size = text.length.toString(16)
  return [
    `${size}\r\n${text}\r\n0\r\n\r\n`,
    `${size.toUpperCase()}\r\n${text}\r\n0\r\n\r\n`,
    `000${size}\r\n${text}\r\n0\r\n\r\n`,
    `0x${size}\r\n${text}\r\n0\r\n\r\n`,
    `+${size}\r\n${text}\r\n0\r\n\r\n`,
    `-${size}\r\n${text}\r\n0\r\n\r\n`,
    `${size} \r\n${text}\r\n0\r\n\r\n`,
    ` ${size}\r\n${text}\r\n0\r\n\r\n`,
    `${size};a=b\r\n${text}\r\n0\r\n\r\n`,
    `${size};a="\r\n"\r\n${text}\r\n0\r\n\r\n`,
    `${size};\n${text}\r\n0\r\n\r\n`,
    `${size}\n${text}\n0\n\n`,
    `${size}\r${text}\r\n0\r\n\r\n`,
    `${size}\r\r\n${text}\r\n0\r\n\r\n`,
    `${size}\r\n${text}0\r\n\r\n`,
    `${size}\r\n${text}XX0\r\n\r\n`,
    `${size}\r\n${text}\n0\r\n\r\n`,
    `${size}\r\n${text}\r\n00\r\n\r\n`,
    `${size}\r\n${text}\r\n0\r\nContent-Length: 5\r\n\r\n`,
    `${size}\r\n${text}\r\n0\r\nX: y\n\n`,
    `${size}\r\n${text}\r\n0\r\n X\r\n\r\n`,
    `${size}\r\n${text}\r\n0\n\r\n`,
    `${size}\r\n${text}\r\n0\r\n\n`,
    `1${'0'.repeat(16)}\r\n${text}\r\n0\r\n\r\n`,
    `${'f'.repeat(16)}\r\n${text}\r\n0\r\n\r\n`,
    `\r\n${text}\r\n0\r\n\r\n`,
    `0\r\n\r\n${text}`,
    `${size}\r\n${text}\r\n`,
  ]
}

const statuses = [
  '200 OK',
  '204 No Content',
  '304 Not Modified',
  '100 Continue',
  '101 Switching Protocols',
  '103 Early Hints',
  '206 Partial Content',
  '205 Reset Content',
  '0 x',
  '2000 OK',
  '999 X',
  '200',
]

/** Returns the case with a number. */
export function caseOf(
  seed: number,
  number: number,
  { token, host, kind }: { token: string; host: string; kind: Kind },
): Case {
  const random = stream(seed, `case ${number}`)
  return kind === 'requests' ? requestCase(random, token, host) : responseCase(random, token, host)
}

export type Kind = 'requests' | 'responses'
export const KINDS: readonly Kind[] = ['requests', 'responses']

function requestCase(random: Random, token: string, host: string): Case {
  const hidden = `GET /hidden/${token} HTTP/1.1\r\nHost: ${host}\r\nX-Case: ${token}\r\n\r\n`
  const inner = random.pick([hidden, 'hello', `x=${token}`, `${hidden}${hidden}`])
  const method = random.pick(['GET', 'GET', 'POST', 'POST', 'POST', 'HEAD', 'PUT', 'OPTIONS', 'DELETE'])
  const path = random.pick([`/clean/${token}.css`, `/first/${token}`])
  const hasBody = method === 'POST' || method === 'PUT' || random.chance(0.2)
  const isChunked = hasBody && random.chance(0.5)
  const target = random.chance(0.25) ? random.pick(targets(path, host)) : path
  const line = random.chance(0.2) ? random.pick(lines(method, target)) : `${method} ${target} HTTP/1.1`
  const fields = [random.chance(0.2) ? random.pick(hosts(host)) : `Host: ${host}`, `X-Case: ${token}`]
  const body = !hasBody ? '' : isChunked ? (random.chance(0.6) ? random.pick(chunks(inner)) : chunks(inner)[0]!) : inner
  if (hasBody) fields.push(isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`)
  for (let more = random.below(3); more > 0; more--) {
    const framing = random.pick(framings(inner.length))
    const at = random.below(fields.length + 1)
    if (random.chance(0.3) && hasBody) fields[fields.length - 1] = framing
    else fields.splice(at, 0, framing)
  }
  const end = random.chance(0.06) ? random.pick(['\n', '\r', '\r\r\n']) : '\r\n'
  const first = `${[line, ...fields].join(end)}${end}${end}${body}`
  const last = `GET /last/${token} HTTP/1.1\r\nHost: ${host}\r\nX-Case: ${token}\r\nConnection: close\r\n\r\n`
  const text = damaged(random, first) + last
  return { pieces: piecesOf(random, text), methods: [method, 'GET'] }
}

function responseCase(random: Random, token: string, host: string): Case {
  const method = random.pick(['GET', 'GET', 'GET', 'HEAD', 'POST'])
  const target = random.pick([`/r/${token}`, `/r/${token}.css`])
  const hidden = `HTTP/1.1 200 OK\r\nX-Hidden: ${token}\r\nContent-Length: 6\r\nCache-Control: max-age=60\r\n\r\nhidden`
  const inner = random.pick(['hello', hidden, `${hidden}${hidden}`])
  const isChunked = random.chance(0.5)
  const status = random.chance(0.3) ? random.pick(statuses) : '200 OK'
  const line = random.chance(0.1)
    ? random.pick([
        `HTTP/1.0 ${status}`,
        `http/1.1 ${status}`,
        `HTTP/1.1  ${status}`,
        `HTTP/1.2 ${status}`,
        `HTTP/2 ${status}`,
        status,
        `\r\nHTTP/1.1 ${status}`,
      ])
    : `HTTP/1.1 ${status}`
  const fields = ['Content-Type: text/css', 'Cache-Control: max-age=60']
  const body = isChunked ? (random.chance(0.6) ? random.pick(chunks(inner)) : chunks(inner)[0]!) : inner
  fields.push(isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`)
  for (let more = random.below(3); more > 0; more--) {
    const framing = random.pick(framings(inner.length))
    if (random.chance(0.3)) fields[2] = framing
    else fields.splice(random.below(fields.length + 1), 0, framing)
  }
  const end = random.chance(0.06) ? random.pick(['\n', '\r', '\r\r\n']) : '\r\n'
  const before = random.chance(0.1)
    ? random.pick(['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', hidden])
    : ''
  const after = random.chance(0.2) ? random.pick([hidden, 'x', '\r\n']) : ''
  const response = before + damaged(random, `${[line, ...fields].join(end)}${end}${end}${body}`) + after
  const text =
    `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nX-Case: ${token}\r\n${method === 'POST' ? 'Content-Length: 0\r\n' : ''}\r\n` +
    `GET /last/${token} HTTP/1.1\r\nHost: ${host}\r\nX-Case: ${token}\r\nConnection: close\r\n\r\n`
  return { pieces: [Buffer.from(text, 'latin1')], methods: [method, 'GET'], response: Buffer.from(response, 'latin1') }
}

/** Changes a few bytes, most often none. */
function damaged(random: Random, text: string): string {
  let out = text
  for (let times = random.chance(0.35) ? 1 + random.below(2) : 0; times > 0; times--) {
    const at = random.below(out.length + 1)
    const character = random.chance(0.7) ? random.pick(CHARACTERS) : String.fromCharCode(random.below(256))
    const [from, to] = random.pick([
      [at, at],
      [at, at + 1],
      [at, at + 1],
    ])
    out = out.slice(0, from) + (random.chance(0.8) ? character : '') + out.slice(to)
  }
  return out
}

/** Cuts a text where readers have to keep a state. */
function piecesOf(random: Random, text: string): Buffer[] {
  const bytes = Buffer.from(text, 'latin1')
  if (!random.chance(0.2)) return [bytes]
  const at = random.below(bytes.length)
  return [bytes.subarray(0, at), bytes.subarray(at)].filter(({ length }) => length > 0)
}
