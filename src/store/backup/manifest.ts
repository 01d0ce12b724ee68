import { createHash } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { parser } from '../../core/schema.js'

/**
 * Version of the archive's layout. A newer one is rejected. Archives of format 3 have files. Archives of format 2 name the
 * schema of their records. Archives of format 1 have schema 1.
 */
export const FORMAT = 3

/** Names of members. Records and audit entries come in pieces of about 1 MiB, so neither side has all in memory. */
export const MEMBERS = {
  records: 'records/',
  audit: 'audit/',
  blobs: 'blobs/',
  files: 'files/',
  /** Lists of the files since the list before, because all of them may not fit into memory. */
  fileLists: 'file-lists/',
  key: 'secret.key',
  manifest: 'manifest.json',
}

/** Last member of an archive, with the required contents of the archive. */
const Manifest = Type.Object({
  format: Type.Integer(),
  edged: Type.String({ description: 'Version of edged that wrote the archive.' }),
  created: Type.String(),
  schema: Type.Optional(Type.Integer({ description: 'Schema of the records; 1 if absent.' })),
  version: Type.Integer({ description: 'Number of the last batch of the store.' }),
  records: Type.Integer(),
  audit_entries: Type.Integer(),
  blobs: Type.Integer(),
  kinds: Type.Optional(Type.Record(Type.String(), Type.Integer(), { description: 'Records by kind.' })),
  blob_bytes: Type.Optional(Type.Integer()),
  files: Type.Optional(
    Type.Record(Type.String(), Type.Object({ count: Type.Integer(), bytes: Type.Integer() }), {
      description: 'Databases of scripts, by type.',
    }),
  ),
  elsewhere: Type.Optional(
    Type.Array(Type.String(), { description: 'Accounts whose databases are on another machine.' }),
  ),
  key_id: Type.String({ description: 'Id of the key that encrypts the secrets.' }),
  members: Type.Array(Type.Object({ name: Type.String(), size: Type.Integer(), sha256: Type.String() })),
})
export type Manifest = Static<typeof Manifest>

export const parseManifest = parser(Manifest)

/** A line of a list of files. */
export const FileLine = Type.Object({
  path: Type.String({ pattern: '^[A-Za-z0-9_-]+/([A-Za-z0-9_-]+/)?[A-Za-z0-9_-]+(\\.sqlite)?$' }),
  type: Type.String(),
  bytes: Type.Integer(),
  sha256: Type.String(),
  taken: Type.String(),
  title: Type.Optional(Type.String()),
})
export type FileLine = Static<typeof FileLine>

export const parseFileLine = parser(FileLine)

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
