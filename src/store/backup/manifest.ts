import { createHash } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { parser } from '../../core/schema.js'

/**
 * Version of the archive's layout. A newer one is rejected. Archives of format 2 name the schema of their records.
 * Archives of format 1 have schema 1.
 */
export const FORMAT = 2

/** Names of members. Records and audit entries come in pieces of about 1 MiB, so neither side has all in memory. */
export const MEMBERS = {
  records: 'records/',
  audit: 'audit/',
  blobs: 'blobs/',
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
  key_id: Type.String({ description: 'Id of the key that encrypts the secrets.' }),
  members: Type.Array(Type.Object({ name: Type.String(), size: Type.Integer(), sha256: Type.String() })),
})
export type Manifest = Static<typeof Manifest>

export const parseManifest = parser(Manifest)

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
