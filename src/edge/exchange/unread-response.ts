import { trimmed } from '../../core/bytes.js'
import type { RawHeaders } from '../../http/headers.js'
import { NameFinder } from '../../http/name-finder.js'
import type { UnreadHead } from '../../http/response-reader.js'
import { isPlainLine } from './unread/plain-line.js'
import { CACHE_STATUS, dropped, EDGE_FIELD, namesFields, responseFields } from './response-fields.js'

const LINE_END = 2
/** Their heads are about no body of their own (RFC 9110, 8.6). */
const WITHOUT_LENGTH = new Set([204, 205])

/** What {@link UnreadResponse} and its writer share. */
type HeadText = Pick<UnreadResponse, 'text' | 'isDated' | 'length'>

/** The head of a response for the client, before anything reads its fields as a list. */
export class UnreadResponse {
  readonly head: UnreadHead
  /** The lines of the fields for the client, each after the end of the line before it. */
  text = ''
  isDated = false
  /** Length of the body. Undefined if it is not known. */
  length: number | undefined
  /** The first Content-Type. */
  contentType: string | undefined
  hasVary = false
  /** Whether it has a field that the cache sets or removes. */
  hasCacheField = false

  constructor(head: UnreadHead) {
    this.head = head
  }

  /** Returns the fields for the client as a list. */
  fields(): string[] {
    return responseFields(this.head.status, this.head.fields)
  }
}

/** Names of fields that are read here or left out. */
const READ_NAMES = [
  'te',
  'date',
  'vary',
  'cf-ray',
  'trailer',
  'upgrade',
  'connection',
  'keep-alive',
  'content-type',
  'content-length',
  CACHE_STATUS,
  'proxy-connection',
  'transfer-encoding',
  'proxy-authenticate',
  EDGE_FIELD,
]
const READ = new NameFinder(READ_NAMES)

/** Returns the head of a response as its text, or undefined if its lines cannot be copied as they are. */
export function unreadResponse(head: UnreadHead): UnreadResponse | undefined {
  const { status, text, marks, end } = head
  if (status < 200 || WITHOUT_LENGTH.has(status)) return undefined
  const response = new UnreadResponse(head)
  let connection = ''
  /** Beginning of the lines that are forwarded together; -1 if there are none. */
  let from = -1
  for (let i = 0; i + 2 < end; i += 3) {
    const begin = marks[i]!
    const nameEnd = marks[i + 1]!
    const valueEnd = marks[i + 2]!
    const name = READ.find(text, begin, nameEnd)
    const part = dropped(name)
    if (part === 'connection') connection += `,${trimmed(text, nameEnd + 1, valueEnd).toLowerCase()}`
    if (part === 'no' || part === 'length') {
      if (!isPlainLine(text, nameEnd, valueEnd)) return undefined
      if (name !== '') read(response, name, nameEnd + 2, valueEnd)
      if (from < 0) from = begin - LINE_END
    } else if (from >= 0) {
      response.text += text.slice(from, begin - LINE_END)
      from = -1
    }
  }
  if (from >= 0) response.text += text.slice(from, marks[end - 1])
  return namesFields(connection) ? undefined : response
}

/** Reads a field, whose value is at these positions of the head. */
function read(response: UnreadResponse, name: string, begin: number, end: number): void {
  const { text } = response.head
  if (name === 'date') response.isDated = true
  else if (name === 'vary') response.hasVary = true
  else if (name === 'content-type') response.contentType ??= text.slice(begin, end)
  else if (name === 'content-length') response.length = Number(text.slice(begin, end))
  else if (name === CACHE_STATUS || name === EDGE_FIELD) response.hasCacheField = true
}

/** Returns the lines of a response with added fields, which are safe. */
export function withLines({ text, isDated, length }: UnreadResponse, added: RawHeaders): HeadText {
  let lines = text
  for (let i = 0; i + 1 < added.length; i += 2) lines += `\r\n${added[i]!}: ${added[i + 1]!}`
  return { text: lines, isDated, length }
}
