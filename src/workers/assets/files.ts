/** One file of a site. */
export interface AssetFile {
  /** Name of the blob with its bytes. */
  readonly blob: string
  readonly size: number
  /** Content type. Undefined if the file is served without one. */
  readonly type: string | undefined
}

/** The files of a site by path. Each path begins with a slash. */
export type AssetFiles = ReadonlyMap<string, AssetFile>

/** Finds files by decoded paths, whether they were uploaded under a decoded or an encoded one. */
export function byDecodedPath(files: AssetFiles): AssetFiles {
  const found = new Map(files)
  for (const [path, file] of files) {
    if (!path.includes('%')) continue
    const decoded = decodedPath(path)
    if (!found.has(decoded)) found.set(decoded, file)
  }
  return found
}

/** Decodes the escapes of a path, segment by segment, and drops empty segments. Invalid escapes stay. */
export function decodedPath(path: string): string {
  const single = path.includes('//') ? path.replaceAll(/\/{2,}/g, '/') : path
  if (!single.includes('%')) return single
  return single
    .split('/')
    .map(decodedSegment)
    .join('/')
    .replaceAll(/\/{2,}/g, '/')
}

// Letters, digits and what needs no escape in either form.
const PLAIN = /^[\w!~*'()./-]*$/

/** Returns a decoded path in the form that URLs have. */
export function encodedFrom(path: string): string {
  return PLAIN.test(path) ? path : path.split('/').map(encodedSegment).join('/')
}

function decodedSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function encodedSegment(segment: string): string {
  try {
    return encodeURIComponent(segment)
  } catch {
    return segment
  }
}
