import { open, type FileHandle } from 'node:fs/promises'
import { messageOf } from '../../core/errors.js'
import type { AuditEntry } from '../../core/store.js'
import { migrated, SCHEMA } from '../migrations/index.js'
import { named, Row } from '../records/record.js'
import { FORMAT, MEMBERS, parseManifest, sha256, type Manifest } from './manifest.js'
import { tarMembers, type TarMember } from './tar.js'

/** An archive whose every byte was verified. */
export interface Backup {
  readonly manifest: Manifest
  /** The key, if the archive has it. */
  readonly key: string | undefined
  /** Records in the form of this version. */
  rows(): AsyncIterable<Row>
  audit(): AsyncIterable<{ readonly cursor: string; readonly entry: AuditEntry }>
  blobs(): AsyncIterable<Buffer>
  close(): Promise<void>
}

/** Opens and verifies an archive. Rejects with the name of the first member that is damaged, missing or of a newer edged. */
export async function openBackup(path: string): Promise<Backup> {
  const file = await open(path)
  try {
    const { manifest, key } = await verified(file)
    const linesOf = async function* (folder: string): AsyncGenerator<string> {
      for await (const { name, bytes } of tarMembers(file))
        if (name.startsWith(folder)) yield* bytes.toString().split('\n').filter(Boolean)
    }
    return {
      manifest,
      key,
      async *rows() {
        for await (const line of linesOf(MEMBERS.records)) yield* migrated(rowOf(line), manifest.schema ?? 1)
      },
      async *audit() {
        for await (const line of linesOf(MEMBERS.audit)) {
          const [cursor, entry] = JSON.parse(line) as [string, AuditEntry]
          yield { cursor, entry }
        }
      },
      async *blobs() {
        for await (const { name, bytes } of tarMembers(file)) if (name.startsWith(MEMBERS.blobs)) yield bytes
      },
      close: async () => await file.close(),
    }
  } catch (error) {
    await file.close()
    throw new Error(`${path} ${messageOf(error)}`, { cause: error })
  }
}

function rowOf(line: string): Row {
  const [name, version, value] = JSON.parse(line) as [unknown, number, unknown]
  return new Row(named(JSON.stringify(name)), version, JSON.stringify(value))
}

async function verified(file: FileHandle): Promise<{ manifest: Manifest; key: string | undefined }> {
  const found = new Map<string, { size: number; sha256: string }>()
  let manifest: Manifest | undefined
  let key: string | undefined
  for await (const member of tarMembers(file)) {
    const { name, bytes } = member
    if (name === MEMBERS.manifest) manifest = manifestOf(member)
    else found.set(name, { size: bytes.length, sha256: sha256(bytes) })
    if (name === MEMBERS.key) key = bytes.toString().trim()
  }
  if (!manifest) throw new Error('is not complete: it has no manifest.json')
  for (const { name, size, sha256: sum } of manifest.members) {
    const member = found.get(name)
    if (!member) throw new Error(`is damaged: ${name} is missing`)
    if (member.size !== size || member.sha256 !== sum) throw new Error(`is damaged: ${name} is not what was written`)
    found.delete(name)
  }
  for (const name of found.keys()) throw new Error(`is damaged: ${name} is not in its manifest`)
  return { manifest, key }
}

function manifestOf({ bytes }: TarMember): Manifest {
  const value = JSON.parse(bytes.toString()) as { readonly format?: unknown; readonly edged?: unknown }
  const newer = (what: string): Error =>
    new Error(`was written by a newer edged (${String(value.edged)}, ${what}); restore it with that version`)
  if (typeof value.format === 'number' && value.format > FORMAT) throw newer(`format ${value.format}, not ${FORMAT}`)
  const manifest = parseManifest(value)
  const { schema = 1 } = manifest
  if (schema > SCHEMA) throw newer(`schema ${schema}, not ${SCHEMA}`)
  return manifest
}
