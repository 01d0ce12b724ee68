import { createHash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import type { BackupFile, BackupFiles } from './files.js'
import type { Blobs } from '../../core/blobs.js'
import type { Clock } from '../../core/clock.js'
import type { Store, Stored } from '../../core/store.js'
import { SCHEMA } from '../migrations/index.js'
import { FORMAT, MEMBERS, sha256, type FileLine, type Manifest } from './manifest.js'
import { TAR_END, tarHeader, tarPadding } from './tar.js'

const PIECE_BYTES = 1024 * 1024
const FILES_PER_LIST = 1000

/** Everything that a backup contains. */
export interface BackupSource {
  readonly store: Pick<Store, 'audit' | 'batch' | 'records'>
  /** Returns the value of a record for the backup. The default is the stored value. */
  readonly contentOf?: (record: Stored<unknown>) => unknown
  /** Schema of the records. The default is the current one. */
  readonly schema?: number
  readonly blobs: Blobs
  /** Returns the names of blobs that these values and the files of Workers name. Some may not exist. */
  readonly blobsOf: (values: readonly unknown[]) => Promise<ReadonlySet<string>>
  /** Databases of scripts. */
  readonly data?: BackupFiles | undefined
  /** The key that encrypts secrets, with its id, and its text if the backup contains it. */
  readonly key: { readonly id: string; readonly text: string | undefined }
  /** Version of edged. */
  readonly edged: string
  readonly clock: Clock
}

/**
 * Writes an archive while the store is in use. Its records show the state of one moment, and audit entries and blobs
 * match the records. Each file has the state of one moment after that. The manifest is last, so an incomplete archive is
 * noticed.
 */
export async function* backupOf(source: BackupSource): AsyncGenerator<Uint8Array> {
  const { store, blobs, clock, key, data, schema = SCHEMA, contentOf = ({ value }) => value } = source
  const created = clock.now()
  const members: Manifest['members'] = []
  function* member(name: string, bytes: Buffer): Generator<Uint8Array> {
    members.push({ name, size: bytes.length, sha256: sha256(bytes) })
    yield tarHeader(name, bytes.length, created / 1000)
    yield bytes
    yield tarPadding(bytes.length)
  }

  let auditEntries = 0
  let cursor: string | undefined
  const auditLines = async function* (until: string): AsyncGenerator<string> {
    for await (const found of store.audit(cursor)) {
      if (found.entry.at > until) return
      cursor = found.cursor
      auditEntries++
      yield JSON.stringify([found.cursor, found.entry])
    }
  }
  const counted = pieceNames(MEMBERS.audit)
  for await (const bytes of pieces(auditLines('9999'))) yield* member(counted(), bytes)

  // In one turn, so that no batch lies between the version and the last record.
  const version = await store.batch([])
  const records = [...store.records()]
  const takenAt = new Date(clock.now()).toISOString()
  const last = records.reduce((max, record) => Math.max(max, record.version), version)
  for await (const bytes of pieces(auditLines(takenAt))) yield* member(counted(), bytes)

  const kinds: Record<string, number> = {}
  const lines = function* (): Generator<string> {
    for (const record of records) {
      const { kind, scope, id, version } = record
      kinds[kind] = (kinds[kind] ?? 0) + 1
      yield JSON.stringify([[kind, scope.type, scope.id, id], version, contentOf(record)])
    }
  }
  const recordName = pieceNames(MEMBERS.records)
  for await (const bytes of pieces(lines())) yield* member(recordName(), bytes)

  let blobCount = 0
  let blobBytes = 0
  for (const name of await source.blobsOf(records.map(({ value }) => value))) {
    const bytes = await blobs.get(name)
    if (!bytes) continue
    blobCount++
    blobBytes += bytes.length
    yield* member(MEMBERS.blobs + name, bytes)
  }
  const counts = new FileCounts()
  const listName = pieceNames(MEMBERS.fileLists)
  const list = () => {
    const lines = counts.lines.splice(0).map((line) => JSON.stringify(line))
    return member(listName(), Buffer.from(`${lines.join('\n')}\n`))
  }
  for await (const file of data?.files ?? []) {
    yield* fileMember(file, created, counts)
    if (counts.lines.length === FILES_PER_LIST) yield* list()
  }
  if (counts.lines.length > 0) yield* list()

  if (key.text !== undefined) yield* member(MEMBERS.key, Buffer.from(`${key.text}\n`))
  const manifest: Manifest = {
    // Versions of edged that read nothing newer can restore an archive that has nothing newer.
    ...(schema === 1 ? { format: 1 } : { format: counts.isEmpty ? 2 : FORMAT, schema }),
    edged: source.edged,
    created: takenAt,
    version: last,
    records: records.length,
    audit_entries: auditEntries,
    blobs: blobCount,
    kinds,
    blob_bytes: blobBytes,
    files: counts.byType,
    ...(data && data.elsewhere.length > 0 && { elsewhere: [...data.elsewhere] }),
    key_id: key.id,
    members: [...members],
  }
  yield* member(MEMBERS.manifest, Buffer.from(JSON.stringify(manifest)))
  yield TAR_END
}

/** Files that were written. */
class FileCounts {
  /** The files since the last list. */
  readonly lines: FileLine[] = []
  readonly byType: Record<string, { count: number; bytes: number }> = {}

  add(line: FileLine): void {
    this.lines.push(line)
    const sum = (this.byType[line.type] ??= { count: 0, bytes: 0 })
    sum.count++
    sum.bytes += line.bytes
  }

  get isEmpty(): boolean {
    return Object.keys(this.byType).length === 0
  }
}

async function* fileMember(file: BackupFile, created: number, counts: FileCounts): AsyncGenerator<Uint8Array> {
  const { path, type, bytes, taken, title } = file
  yield tarHeader(MEMBERS.files + path, bytes, created / 1000)
  const hash = createHash('sha256')
  let written = 0
  for await (const chunk of file.content()) {
    hash.update(chunk)
    written += chunk.length
    yield chunk
  }
  if (written !== bytes) throw new Error(`${path} has ${written} bytes, not ${bytes}`)
  yield tarPadding(bytes)
  counts.add({ path, type, bytes, taken, sha256: hash.digest('hex'), ...(title !== undefined && { title }) })
}

const pieceNames = (folder: string): (() => string) => {
  let count = 0
  return () => `${folder}${String(++count).padStart(6, '0')}.ndjson`
}

/** Joins lines to pieces. Other work runs between two pieces. */
async function* pieces(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Buffer> {
  let some: string[] = []
  let size = 0
  for await (const line of lines) {
    some.push(line)
    size += line.length + 1
    if (size < PIECE_BYTES) continue
    yield Buffer.from(`${some.join('\n')}\n`)
    some = []
    size = 0
    await turn()
  }
  if (some.length > 0) yield Buffer.from(`${some.join('\n')}\n`)
}
