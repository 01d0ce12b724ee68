import { bytesText } from './bytes-text.js'
import type { Manifest } from '../../store/backup/manifest.js'

/** Names of types of files, for one and for several. */
const TYPES: ReadonlyMap<string, readonly [one: string, several: string]> = new Map([
  ['d1', ['D1 database', 'D1 databases']],
  ['object', ['Durable Object', 'Durable Objects']],
])

/** Returns the databases of an archive, as text of one line. */
export function dataText({ files = {} }: Manifest): string {
  const parts = [...TYPES].map(([type, [one, several]]) => {
    const { count, bytes } = files[type] ?? { count: 0, bytes: 0 }
    return `${counted(count, one, several)}${count > 0 ? ` (${bytesText(bytes)})` : ''}`
  })
  return parts.join(', ')
}

const counted = (count: number, one: string, several = `${one}s`): string => `${count} ${count === 1 ? one : several}`

/** Returns the contents of an archive, as text of one line. */
export function contentsText(manifest: Manifest, hasKey: boolean): string {
  const { records, audit_entries: audit, blobs, blob_bytes: blobBytes } = manifest
  const sized = blobBytes === undefined || blobs === 0 ? '' : ` (${bytesText(blobBytes)})`
  const parts = [
    counted(records, 'record'),
    counted(audit, 'audit entry', 'audit entries'),
    `${counted(blobs, 'blob')}${sized}`,
    dataText(manifest),
  ]
  return `${parts.join(', ')}${hasKey ? '' : ', without the secret key'}`
}

/** Returns a line for each account whose databases another machine has. */
export const elsewhereLines = ({ elsewhere = [] }: Manifest): string[] =>
  elsewhere.map(
    (id) =>
      `not in this archive: D1 databases and Durable Objects of account ${id}, which another machine has; run edged backup there too`,
  )
