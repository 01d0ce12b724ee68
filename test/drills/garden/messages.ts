/** Reads HTTP/1.1 messages strictly: whatever the standard forbids is a fault of its sender. */

/** A message without its body. */
export interface Head {
  /** Request line or status line. */
  readonly line: string
  /** Lower case names. */
  readonly fields: readonly (readonly [name: string, value: string])[]
}

/** A whole message, or why the bytes are none. `rest` is what follows. Undefined: more bytes are needed. */
export type Read =
  | { readonly head: Head; readonly body: string; readonly rest: string; readonly toClose: boolean }
  | { readonly fault: string }
  | undefined

const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\u0020-\u007e\u0080-\u00ff]*?)[ \t]*$/
const REQUEST = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ [\u0021-\u007e\u0080-\u00ff]+ HTTP\/1\.[01]$/
const STATUS = /^HTTP\/1\.[01] \d{3}(?: [\t\u0020-\u007e\u0080-\u00ff]*)?$/

/** Returns the values of a field. */
export const valuesOf = ({ fields }: Head, wanted: string): string[] =>
  fields.filter(([name]) => name === wanted).map(([, value]) => value)

/** Reads a request, or the response to a request with `method`, from the beginning of a text of bytes. */
export function readMessage(text: string, kind: 'request' | 'response', { method = 'GET', ended = false } = {}): Read {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return text.length > 65_536 ? { fault: 'a head without an end' } : undefined
  const [line = '', ...lines] = text.slice(0, end).split('\r\n')
  if (!(kind === 'request' ? REQUEST : STATUS).test(line)) return { fault: `first line ${JSON.stringify(line)}` }
  const fields: [string, string][] = []
  for (const one of lines) {
    const found = FIELD.exec(one)
    if (found === null) return { fault: `field ${JSON.stringify(one)}` }
    fields.push([found[1]!.toLowerCase(), found[2]!])
  }
  const head = { line, fields }
  const from = end + 4
  const bare = { head, body: '', rest: text.slice(from), toClose: false }
  const status = line.slice(9, 12)
  if (kind === 'response' && (method === 'HEAD' || /^(?:1|204|304)/.test(status))) return bare
  const codings = valuesOf(head, 'transfer-encoding')
  const lengths = valuesOf(head, 'content-length')
  if (codings.length > 0) {
    if (codings.length > 1 || codings[0]!.toLowerCase() !== 'chunked' || lengths.length > 0)
      return { fault: `framing ${JSON.stringify([...codings, ...lengths])}` }
    return readChunks(head, text, from)
  }
  if (lengths.length > 1 || (lengths.length === 1 && !/^\d{1,15}$/.test(lengths[0]!)))
    return { fault: `length ${JSON.stringify(lengths)}` }
  if (lengths.length === 0) {
    if (kind === 'request') return bare
    return ended ? { head, body: text.slice(from), rest: '', toClose: true } : undefined
  }
  const to = from + Number(lengths[0])
  return to > text.length ? undefined : { head, body: text.slice(from, to), rest: text.slice(to), toClose: false }
}

function readChunks(head: Head, text: string, from: number): Read {
  let body = ''
  for (let at = from; ;) {
    const end = text.indexOf('\r\n', at)
    if (end < 0) return undefined
    const size = text.slice(at, end)
    if (!/^[0-9a-fA-F]{1,8}$/.test(size)) return { fault: `chunk ${JSON.stringify(size.slice(0, 60))}` }
    const length = Number.parseInt(size, 16)
    at = end + 2
    if (length === 0) {
      const close = text.startsWith('\r\n', at) ? at : text.indexOf('\r\n\r\n', at)
      if (close < 0 || text.length < at + 2) return undefined
      return { head, body, rest: text.slice(close === at ? at + 2 : close + 4), toClose: false }
    }
    if (text.length < at + length + 2) return undefined
    if (text.slice(at + length, at + length + 2) !== '\r\n') return { fault: 'a chunk does not end with its length' }
    body += text.slice(at, at + length)
    at += length + 2
  }
}
