import { partsOf, sniffed } from './body.js'
import type { Budget } from './language/budget.js'
import type { Getter } from './context.js'
import { acceptedLanguages, pathExtension } from './derived.js'
import { decodeOnce } from './functions/percent.js'
import { append, MEMBER_STEPS, pairMap, pairNames, pairValues } from './pairs.js'
import type { Bytes, Ip, Value } from './language/value.js'

/** Source of the fields of a request. Texts are byte strings. */
export interface RequestView {
  readonly method: Bytes
  /** For example `HTTP/1.1`. */
  readonly version: Bytes
  readonly secure: boolean
  readonly host: Bytes
  /** Current path and query, after the rules that ran so far. */
  readonly target: Bytes
  /** Path and query as the client sent them. */
  readonly rawTarget: Bytes
  /** Alternating names and values, as received. */
  readonly headers: readonly Bytes[]
  readonly clientIp: Ip | undefined
  /** Time of arrival, in milliseconds. */
  readonly receivedAt: number
  /** The body, or its buffered beginning. Undefined if the body was not read. */
  readonly body?: { readonly bytes: Bytes; readonly size: number } | undefined
}

/** Returns the path of a request target. */
export function pathOf(target: Bytes): Bytes {
  const query = target.indexOf('?')
  return query === -1 ? target : target.slice(0, query)
}

/** Returns the query of a request target, "" if there is none. */
export function queryOf(target: Bytes): Bytes {
  const query = target.indexOf('?')
  return query === -1 ? '' : target.slice(query + 1)
}

/** Returns pairs as a map from each name to its values in order. */
function grouped(pairs: Iterable<readonly [Bytes, Bytes]>): ReadonlyMap<Bytes, readonly Bytes[]> {
  const map = new Map<Bytes, Bytes[]>()
  for (const [name, value] of pairs) append(map, name, value)
  return map
}

/** Returns the names (or values, from 1) of a flat list. */
const everyOther = (list: readonly Bytes[], from: 0 | 1): readonly Bytes[] => list.filter((_, at) => at % 2 === from)

/** Returns headers as a map from names in lower case to values in order. */
export function headerMap(headers: readonly Bytes[]): ReadonlyMap<Bytes, readonly Bytes[]> {
  const pairs: [Bytes, Bytes][] = []
  for (let at = 0; at + 1 < headers.length; at += 2) {
    pairs.push([(headers[at] as Bytes).toLowerCase(), headers[at + 1] as Bytes])
  }
  return grouped(pairs)
}

/** Returns the values of one header, joined; "" if there is none. */
function header({ headers }: RequestView, name: string, separator = ', '): Bytes {
  let joined: Bytes | undefined
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const found = headers[at] as Bytes
    if (found.length !== name.length || found.toLowerCase() !== name) continue
    joined = joined === undefined ? (headers[at + 1] as Bytes) : joined + separator + (headers[at + 1] as Bytes)
  }
  return joined ?? ''
}

/** Blanks at both ends. Not `trim`, which treats the byte 0xA0, the end of `à` in UTF-8, as a blank. */
const BLANKS = /^[ \t]+|(?<![ \t])[ \t]+$/g

/** Cost of one cookie, in steps of the budget. */
const COOKIE_STEPS = 80

function cookies(view: RequestView, budget: Budget): Value {
  const fields = header(view, 'cookie', '; ').split(';')
  budget.spend(fields.length * COOKIE_STEPS)
  const pairs = fields
    .map((cookie) => cookie.replace(BLANKS, ''))
    .filter((cookie) => cookie !== '')
    .map((cookie): readonly [Bytes, Bytes] => {
      const equals = cookie.indexOf('=')
      const name = equals === -1 ? cookie : cookie.slice(0, equals)
      return [decodeOnce(name.replace(/\+/g, '%2B'), false), equals === -1 ? '' : cookie.slice(equals + 1)]
    })
  return grouped(pairs)
}

const URLENCODED = /^application\/x-www-form-urlencoded\s*(?:;|$)/i

/** Returns the form in the body; "" if the body is of another type. */
const formOf = (view: RequestView): Bytes =>
  view.body !== undefined && URLENCODED.test(header(view, 'content-type')) ? view.body.bytes : ''

const parts = (view: RequestView) => partsOf(view.body?.bytes ?? '', header(view, 'content-type'))

/** Returns a missing value if the body was not read. */
const ofBody = (view: RequestView, read: () => Value): Value | undefined =>
  view.body === undefined ? undefined : read()

type Getters = Readonly<Record<string, Getter<RequestView>>>

const fullUri = ({ secure, host }: RequestView, target: Bytes) => `${secure ? 'https' : 'http'}://${host}${target}`

/** Getters of the target under one prefix, for the current or the received target. */
function targetGetters(prefix: '' | 'raw.', target: (view: RequestView) => Bytes): Getters {
  const query = (view: RequestView) => queryOf(target(view))
  return {
    [`${prefix}http.request.full_uri`]: (view) => fullUri(view, target(view)),
    [`${prefix}http.request.uri`]: target,
    [`${prefix}http.request.uri.path`]: (view) => pathOf(target(view)),
    [`${prefix}http.request.uri.path.extension`]: (view) => pathExtension(pathOf(target(view))),
    [`${prefix}http.request.uri.query`]: query,
    [`${prefix}http.request.uri.args`]: (view, budget) => pairMap(query(view), budget),
    [`${prefix}http.request.uri.args.names`]: (view, budget) => pairNames(query(view), budget),
    [`${prefix}http.request.uri.args.values`]: (view, budget) => pairValues(query(view), budget),
  }
}

/** Getters of fields that depend on the request alone. Fields named after a header are "" if it was not sent. */
export const REQUEST_GETTERS: Getters = {
  ...targetGetters('', ({ target }) => target),
  ...targetGetters('raw.', ({ rawTarget }) => rawTarget),
  'http.host': ({ host }) => host,
  'http.request.method': ({ method }) => method,
  'http.request.version': ({ version }) => version,
  'http.request.timestamp.sec': ({ receivedAt }) => Math.floor(receivedAt / 1000),
  'http.request.timestamp.msec': ({ receivedAt }) => receivedAt % 1000,
  ssl: ({ secure }) => secure,
  'ip.src': ({ clientIp }) => clientIp,
  'http.cookie': (view) => header(view, 'cookie', '; '),
  'http.referer': (view) => header(view, 'referer'),
  'http.user_agent': (view) => header(view, 'user-agent'),
  'http.x_forwarded_for': (view) => header(view, 'x-forwarded-for'),
  'http.request.cookies': cookies,
  'http.request.headers': ({ headers }, budget) => {
    budget.spend((headers.length / 2) * MEMBER_STEPS)
    return headerMap(headers)
  },
  'http.request.headers.names': ({ headers }) => everyOther(headers, 0),
  'http.request.headers.values': ({ headers }) => everyOther(headers, 1),
  'http.request.headers.truncated': () => false,
  'http.request.accepted_languages': (view, budget) => acceptedLanguages(header(view, 'accept-language'), budget),
  'http.request.body.raw': ({ body }) => body?.bytes,
  'http.request.body.size': ({ body }) => body?.size,
  'http.request.body.truncated': ({ body }) => (body === undefined ? undefined : body.size > body.bytes.length),
  'http.request.body.mime': ({ body }) => (body === undefined ? undefined : sniffed(body.bytes)),
  'http.request.body.form': (view, budget) => ofBody(view, () => pairMap(formOf(view), budget)),
  'http.request.body.form.names': (view, budget) => ofBody(view, () => pairNames(formOf(view), budget)),
  'http.request.body.form.values': (view, budget) => ofBody(view, () => pairValues(formOf(view), budget)),
  'http.request.body.multipart': (view) =>
    ofBody(view, () => grouped(parts(view).flatMap(({ names, value }) => names.map((name) => [name, value] as const)))),
  'http.request.body.multipart.names': (view) => ofBody(view, () => parts(view).map(({ names }) => names)),
  'http.request.body.multipart.values': (view) => ofBody(view, () => parts(view).map(({ value }) => value)),
  'http.request.body.multipart.content_types': (view) =>
    ofBody(view, () => parts(view).map(({ contentTypes }) => contentTypes)),
  'http.request.body.multipart.content_dispositions': (view) =>
    ofBody(view, () => parts(view).map(({ dispositions }) => dispositions)),
  'http.request.body.multipart.content_transfer_encodings': (view) =>
    ofBody(view, () => parts(view).map(({ transferEncodings }) => transferEncodings)),
  'http.request.body.multipart.filenames': (view) => ofBody(view, () => parts(view).map(({ filenames }) => filenames)),
}
