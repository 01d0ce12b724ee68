import { createHash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import { messageOf } from '../../core/errors.js'
import type { AuditEntry } from '../../core/store.js'
import { migrated, SCHEMA } from '../migrations/index.js'
import { named, Row } from '../records/record.js'
import { FORMAT, MEMBERS, parseFileLine, parseManifest, type FileLine, type Manifest } from './manifest.js'
import { tarMembers, type TarMember } from './tar.js'

/** A file in an archive. */
export interface FileInBackup extends FileLine {
  content(): AsyncIterable<Uint8Array>
}

/** An archive whose every byte was verified. */
export interface Backup {
  readonly manifest: Manifest
  /** The key, if the archive has it. */
  readonly key: string | undefined
  /** Records in the form of this version. */
  rows(): AsyncIterable<Row>
  audit(): AsyncIterable<{ readonly cursor: string; readonly entry: AuditEntry }>
  blobs(): AsyncIterable<Buffer>
  /** Files of databases. */
  files(): AsyncIterable<FileInBackup>
  close(): Promise<void>
}

/** Opens and verifies an archive. Rejects with the name of the first member that is damaged, missing or of a newer edged. */
export async function openBackup(path: string): Promise<Backup> {
  const file = await open(path)
  try {
    const { manifest, key } = await verified(file)
    const linesOf = async function* (folder: string): AsyncGenerator<string> {
      for await (const member of tarMembers(file)) if (member.name.startsWith(folder)) yield* await linesIn(member)
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
        for await (const member of tarMembers(file))
          if (member.name.startsWith(MEMBERS.blobs)) yield await member.bytes()
      },
      async *files() {
        let before: TarMember[] = []
        for await (const member of tarMembers(file)) {
          if (member.name.startsWith(MEMBERS.files)) before.push(member)
          if (!member.name.startsWith(MEMBERS.fileLists)) continue
          const lines = (await linesIn(member)).map(fileLine)
          for (const [at, one] of before.entries()) yield { ...lines[at]!, content: () => one.chunks() }
          before = []
        }
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
  /** Files that no list has named yet. */
  let files: { path: string; bytes: number; sha256: string }[] = []
  let manifest: Manifest | undefined
  let key: string | undefined
  for await (const member of tarMembers(file)) {
    const { name, size } = member
    if (name === MEMBERS.manifest) {
      manifest = manifestOf(await member.text())
      continue
    }
    const sum = await sumOf(member)
    if (name.startsWith(MEMBERS.files)) {
      files.push({ path: name.slice(MEMBERS.files.length), bytes: size, sha256: sum })
      continue
    }
    found.set(name, { size, sha256: sum })
    if (name === MEMBERS.key) key = (await member.text()).trim()
    if (!name.startsWith(MEMBERS.fileLists)) continue
    assertListed(files, (await linesIn(member)).map(fileLine))
    files = []
  }
  if (!manifest) throw new Error('is not complete: it has no manifest.json')
  for (const { name, size, sha256: sum } of manifest.members) {
    const member = found.get(name)
    if (!member) throw new Error(`is damaged: ${name} is missing`)
    if (member.size !== size || member.sha256 !== sum) throw new Error(`is damaged: ${name} is not what was written`)
    found.delete(name)
  }
  for (const name of found.keys()) throw new Error(`is damaged: ${name} is not in its manifest`)
  assertListed(files, [])
  return { manifest, key }
}

/** Throws if these files are not the ones of a list. */
function assertListed(
  files: readonly { readonly path: string; readonly bytes: number; readonly sha256: string }[],
  lines: readonly FileLine[],
): void {
  for (const [at, { path, bytes, sha256 }] of lines.entries()) {
    const file = files[at]
    if (file?.path !== path) throw new Error(`is damaged: ${MEMBERS.files}${path} is missing`)
    if (file.bytes !== bytes || file.sha256 !== sha256)
      throw new Error(`is damaged: ${MEMBERS.files}${path} is not what was written`)
  }
  const more = files[lines.length]
  if (more) throw new Error(`is damaged: ${MEMBERS.files}${more.path} is in no list`)
}

async function sumOf(member: TarMember): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of member.chunks()) hash.update(chunk)
  return hash.digest('hex')
}

const linesIn = async (member: TarMember): Promise<string[]> => (await member.text()).split('\n').filter(Boolean)

const fileLine = (line: string): FileLine => parseFileLine(JSON.parse(line))

function manifestOf(text: string): Manifest {
  const value = JSON.parse(text) as { readonly format?: unknown; readonly edged?: unknown }
  const newer = (what: string): Error =>
    new Error(`was written by a newer edged (${String(value.edged)}, ${what}); restore it with that version`)
  if (typeof value.format === 'number' && value.format > FORMAT) throw newer(`format ${value.format}, not ${FORMAT}`)
  const manifest = parseManifest(value)
  const { schema = 1 } = manifest
  if (schema > SCHEMA) throw newer(`schema ${schema}, not ${SCHEMA}`)
  return manifest
}
