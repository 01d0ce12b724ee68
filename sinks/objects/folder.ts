import { pathOf, reject } from '../contract/params.js'

/** Folder for the objects of a destination. The path may contain the day. */
export interface Folder {
  /** The path has a `{DATE}`. */
  readonly daily: boolean
  /** Returns the name of an object below the path for the UTC day of `at`, without a leading slash. */
  key(name: string, at: Date): string
}

const DATE = '{DATE}'

/** The path of a destination as a folder. Throws InvalidInput for a path that no object store takes. */
export function folderOf(destination: URL): Folder {
  return folder(pathOf(destination))
}

/** The same for a path that is already decoded. */
export function folder(path: string): Folder {
  if (/\{(?!DATE\})/.test(path) || /(?<!\{DATE)\}/.test(path)) reject('has a placeholder other than {DATE} in its path')
  // eslint-disable-next-line no-control-regex -- control characters are searched for
  if (/[\0-\x1f\x7f]/.test(path)) reject('has control characters in its path')
  if (path.split('/').some((part) => part === '.' || part === '..')) reject('has a path with dots for folders')
  if (Buffer.byteLength(path) > MAX_BYTES) reject(`has a path of more than ${MAX_BYTES} bytes`)

  return {
    daily: path.includes(DATE),
    key: (name, at) => {
      const day = at.toISOString().slice(0, 10).replaceAll('-', '')
      return path === '' ? name : `${path.replaceAll(DATE, day)}/${name}`
    },
  }
}

/**
 * Maximum path length. S3 and compatible stores limit object names to 1,024 bytes, and the rest is for the name of the
 * batch.
 */
const MAX_BYTES = 900
