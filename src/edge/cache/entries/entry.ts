import type { RawHeaders } from '../../../http/headers.js'
import type { Body } from './body.js'
import type { Freshness } from './policy.js'

/** Bytes that an entry costs besides its fields, key and body. */
const OVERHEAD = 512

/** A derived representation of a stored response, such as its Markdown. */
export interface Variant {
  readonly bytes: Buffer
  /** For the creator's own use. */
  readonly facts?: string
}

/** Facts with which an entry is created. */
export interface EntryParts {
  readonly key: string
  readonly zone: string
  /** Host without port, and target, for purges: `example.com/path?query`. */
  readonly url: string
  readonly tags: readonly string[]
  /** Names of the request fields that select it, and their values. */
  readonly vary: readonly string[]
  readonly varyKey: string
  readonly body: Body
  /** Number of the last purge when its fetch began. */
  readonly born: number
  /** The same in the numbers of the disk tier. */
  readonly diskBorn: number
}

/** The file of a stored response. */
export interface EntryFile {
  readonly name: string
  readonly slot: number
  sequence: number
  readonly checksums: string
}

/** The head of a stored response. A revalidation replaces it. */
export interface EntryHead {
  readonly status: number
  /** Without `content-length` and `age`. */
  readonly fields: RawHeaders
  /** On the clock's monotonic scale. */
  readonly arrivedAt: number
  readonly freshness: Freshness
}

/** One stored response, or one that is being received. */
export class Entry {
  readonly key: string
  readonly zone: string
  readonly url: string
  readonly tags: readonly string[]
  readonly vary: readonly string[]
  readonly varyKey: string
  readonly body: Body
  readonly born: number
  readonly diskBorn: number
  /** Undefined if it is not on disk, as far as this process knows. */
  file: EntryFile | undefined
  /** Its body is on disk only. */
  isStreamed = false
  head: EntryHead
  etag: string | undefined
  lastModified: string | undefined
  /** Number of the last purge that it was compared with. */
  checked: number
  /** The store has the entry, and its memory is charged. */
  resident = false
  /** Hits since the entry was last considered for eviction, at most 3. */
  hits = 0
  /** In the main queue of the store. */
  isMain = false
  /** Neighbours in the queue of the store. */
  before: Entry | undefined
  after: Entry | undefined
  /** Bytes charged for its head. */
  headBytes: number
  /** Fields of a hit, for the second in which they were created. */
  hitFields: { readonly second: number; readonly fields: RawHeaders } | undefined
  variants: Map<string, Variant> | undefined
  /** Who waits for representations that are being derived, by name. */
  deriving: Map<string, ((variant: Variant | undefined) => void)[]> | undefined

  constructor(parts: EntryParts, head: EntryHead) {
    this.key = parts.key
    this.zone = parts.zone
    this.url = parts.url
    this.tags = parts.tags
    this.vary = parts.vary
    this.varyKey = parts.varyKey
    this.body = parts.body
    this.born = parts.born
    this.diskBorn = parts.diskBorn
    this.checked = parts.born
    this.head = head
    this.headBytes = this.bytesWith(head)
    this.#read()
  }

  /** Replaces the head after a revalidation. Only the store calls this. */
  replaceHead(head: EntryHead): void {
    this.head = head
    this.headBytes = this.bytesWith(head)
    this.hitFields = undefined
    this.#read()
  }

  /** Returns the bytes to charge for such a head. */
  bytesWith({ fields }: EntryHead): number {
    return OVERHEAD + 2 * (this.key.length + this.varyKey.length) + lengthOf(fields) + lengthOf(this.tags)
  }

  /** Age in seconds at a time on the clock's monotonic scale. */
  age(now: number): number {
    return this.head.freshness.age + (now - this.head.arrivedAt) / 1000
  }

  #read(): void {
    this.etag = undefined
    this.lastModified = undefined
    const { fields } = this.head
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const name = fields[i]!.toLowerCase()
      if (name === 'etag') this.etag ??= fields[i + 1]
      else if (name === 'last-modified') this.lastModified ??= fields[i + 1]
    }
  }
}

const lengthOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length + 16, 0)
