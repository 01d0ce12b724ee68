import { pathOf, reject } from '../params.js'

/** Where the objects of a destination go: a path that may change with the day. */
export interface Folder {
  /** The path has a `{DATE}`. */
  readonly daily: boolean
  /** The name of an object below the path on the day of `at`, UTC; without a slash in front. */
  key(name: string, at: Date): string
}

const DATE = '{DATE}'

/** The path of a destination as a folder. Throws InvalidInput for a path that no object store takes. */
export function folderOf(destination: URL): Folder {
  return folder(pathOf(destination))
}

/** The same for a path that is decoded already. */
export function folder(path: string): Folder {
  if (/\{(?!DATE\})/.test(path) || /(?<!\{DATE)\}/.test(path)) reject('has a placeholder other than {DATE} in its path')
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
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

/** Names of objects end at 1,024 bytes in S3 and its kin; the rest is for the name of a batch. */
const MAX_BYTES = 900
