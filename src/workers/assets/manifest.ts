import { Type, type Static } from 'typebox'
import { InvalidInput, type Issue } from '../../core/errors.js'
import { mapOf, strict } from '../../core/schema.js'
import type { Pause } from '../../core/schedule/event-loop-yield.js'
import type { StoredAsset } from '../../core/model/worker-assets.js'
import type { AssetFile, AssetFiles } from './files.js'
import { typeOf } from './types.js'

/** The form of a client's hash of a file. */
export const HASH = /^[0-9a-f]{32}$/

/** The files that a client announces, by path. */
export const AnnouncedFiles = mapOf(
  Type.Object({ hash: Type.String({ pattern: HASH.source }), size: Type.Integer({ minimum: 0 }) }, strict),
  { description: 'The files by their paths, such as /index.html.' },
)
export type AnnouncedFiles = Static<typeof AnnouncedFiles>

/** Limits of one version. */
export interface AssetLimits {
  readonly files: number
  readonly file_bytes: number
}

const MAX_PATH_CHARACTERS = 1024
const MAX_ISSUES = 100
/** Files that are read between two pauses. */
export const SLICE_FILES = 500

/**
 * Throws InvalidInput if files cannot be served. Examples are too many or too large files, an invalid path, or one hash
 * with two sizes.
 */
export async function checkAnnounced(
  files: AnnouncedFiles,
  { files: max, file_bytes: bytes }: AssetLimits,
  pause: Pause,
): Promise<void> {
  const entries = Object.entries(files)
  if (entries.length > max) throw new InvalidInput([{ pointer: '/manifest', message: `has more than ${max} files` }])
  const issues: Issue[] = []
  const sizes = new Map<string, number>()
  for (const [at, [path, { hash, size }]] of entries.entries()) {
    if (at % SLICE_FILES === SLICE_FILES - 1) await pause()
    const pointer = `/manifest/${path.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const issue = pathIssue(path)
    if (issue) issues.push({ pointer, message: issue })
    if (size > bytes) issues.push({ pointer: `${pointer}/size`, message: `is more than ${bytes} bytes` })
    if ((sizes.get(hash) ?? size) !== size)
      issues.push({ pointer: `${pointer}/size`, message: 'is not the size that another file with this hash has' })
    sizes.set(hash, size)
    if (issues.length >= MAX_ISSUES) break
  }
  if (issues.length > 0) throw new InvalidInput(issues)
}

function pathIssue(path: string): string | undefined {
  if (!path.startsWith('/')) return 'the path must begin with /'
  if (path.length > MAX_PATH_CHARACTERS) return `the path is longer than ${MAX_PATH_CHARACTERS} characters`
  if (path.endsWith('/')) return 'the path must be that of a file, without / at its end'
  // oxlint-disable-next-line no-control-regex
  if (/[\x00-\x1f\x7f]/.test(path)) return 'the path holds a control character'
  if (/\/(?:\.{0,2})\//.test(path) || /\/\.{1,2}$/.test(path)) return 'the path has a segment that is empty, . or ..'
  return undefined
}

/** A stored manifest. Each entry has the path, blob name, size and content type of a file. */
const Stored = Type.Array(
  Type.Tuple([Type.String(), Type.String(), Type.Integer(), Type.Union([Type.String(), Type.Null()])]),
)

/** Returns the bytes of a manifest. The same files have the same bytes. */
export async function manifestBytes(
  files: AnnouncedFiles,
  stored: (hash: string) => StoredAsset,
  pause: Pause,
): Promise<Buffer> {
  const paths = Object.keys(files).sort()
  await pause()
  const parts: Buffer[] = []
  for (let at = 0; at < paths.length; at += SLICE_FILES) {
    const rows = paths.slice(at, at + SLICE_FILES).map((path): Static<typeof Stored>[number] => {
      const { blob, size, type } = stored(files[path]!.hash)
      return [path, blob, size, type === undefined ? null : typeOf(type, path)]
    })
    parts.push(Buffer.from(`${at === 0 ? '' : ','}${JSON.stringify(rows).slice(1, -1)}`))
    await pause()
  }
  return Buffer.concat([Buffer.from('['), ...parts, Buffer.from(']')])
}

/** Reads the files of a manifest that {@link manifestBytes} made. */
export function readManifest(bytes: Uint8Array): AssetFiles {
  const rows = JSON.parse(Buffer.from(bytes).toString()) as Static<typeof Stored>
  return new Map(
    rows.map(([path, blob, size, type]): [string, AssetFile] => [path, { blob, size, type: type ?? undefined }]),
  )
}
