import { trimmed } from '../../core/bytes.js'
import type { RawHeaders } from '../../http/headers.js'
import type { UnreadHead } from '../../http/response-reader.js'
import { isPlainLine } from './unread/plain-line.js'
import { dropped, namesFields, responseFields } from './response-fields.js'

const LINE_END = 2
/** Their heads are about no body of their own (RFC 9110, 8.6). */
const WITHOUT_LENGTH = new Set([204, 205])

/** What {@link UnreadResponse} and its writer share. */
type HeadText = Pick<UnreadResponse, 'text' | 'isDated' | 'length'>

/** The head of a response for the client, before anything reads its fields as a list. */
export class UnreadResponse {
  readonly head: UnreadHead
  /** The lines of the fields for the client, each after the end of the line before it. */
  readonly text: string
  readonly isDated: boolean
  /** Length of the body. Undefined if it is not known. */
  readonly length: number | undefined
  /** The first Content-Type. */
  readonly contentType: string | undefined
  readonly hasVary: boolean

  constructor(head: UnreadHead, facts: Facts, text: string) {
    this.head = head
    this.text = text
    this.isDated = facts.isDated
    this.length = facts.length
    this.contentType = facts.contentType
    this.hasVary = facts.hasVary
  }

  /** Returns the fields for the client as a list. */
  fields(): string[] {
    return responseFields(this.head.status, this.head.fields)
  }
}

/** Facts about the fields of a head. */
class Facts {
  isDated = false
  length: number | undefined
  contentType: string | undefined
  hasVary = false
}

/** Returns the head of a response as its text, or undefined if its lines cannot be copied as they are. */
export function unreadResponse(head: UnreadHead): UnreadResponse | undefined {
  const { status, text, marks, end } = head
  if (status < 200 || WITHOUT_LENGTH.has(status)) return undefined
  const facts = new Facts()
  let lines = ''
  let connection = ''
  /** Beginning of the lines that are forwarded together; -1 if there are none. */
  let from = -1
  for (let i = 0; i + 2 < end; i += 3) {
    const begin = marks[i]!
    const nameEnd = marks[i + 1]!
    const valueEnd = marks[i + 2]!
    const name = READ_LENGTHS[nameEnd - begin] === 1 ? text.slice(begin, nameEnd).toLowerCase() : ''
    const part = dropped(name)
    if (part === 'connection') connection += `,${trimmed(text, nameEnd + 1, valueEnd).toLowerCase()}`
    if (part === 'no' || part === 'length') {
      if (!isPlainLine(text, nameEnd, valueEnd)) return undefined
      if (name !== '') read(facts, name, text.slice(nameEnd + 2, valueEnd))
      if (from < 0) from = begin - LINE_END
    } else if (from >= 0) {
      lines += text.slice(from, begin - LINE_END)
      from = -1
    }
  }
  if (from >= 0) lines += text.slice(from, marks[end - 1])
  return namesFields(connection) ? undefined : new UnreadResponse(head, facts, lines)
}

function read(facts: Facts, name: string, value: string): void {
  if (name === 'date') facts.isDated = true
  else if (name === 'vary') facts.hasVary = true
  else if (name === 'content-type') facts.contentType ??= value
  else if (name === 'content-length') facts.length = Number(value)
}

/** Returns the lines of a response with added fields, which are safe. */
export function withLines({ text, isDated, length }: UnreadResponse, added: RawHeaders): HeadText {
  let lines = text
  for (let i = 0; i + 1 < added.length; i += 2) lines += `\r\n${added[i]!}: ${added[i + 1]!}`
  return { text: lines, isDated, length }
}

/** 1 for the lengths of the names that are read or left out. */
const READ_LENGTHS = new Uint8Array(19)
for (const length of [2, 4, 6, 7, 10, 12, 14, 16, 17, 18]) READ_LENGTHS[length] = 1
