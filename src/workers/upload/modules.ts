import { createHash } from 'node:crypto'
import type { ScriptFormat } from '../../core/model/worker.js'
import { UploadRefused, type UploadIssue } from '../upload-errors.js'
import { modulePath, type UploadedFile } from './form.js'
import type { Metadata } from '../metadata/schema.js'

/** The code of an upload that is run, and the way it is run. */
export interface MainModule {
  readonly format: ScriptFormat
  readonly main: UploadedFile
}

const PYTHON = 'text/x-python'
const SOURCE_MAP = 'application/source-map'
const SCRIPTS: readonly string[] = ['application/javascript', 'text/javascript']

/** Returns whether a script can import the file. A source map cannot be imported. */
export const isModule = ({ type }: { readonly type: string }): boolean => type !== SOURCE_MAP

/**
 * Returns the main module that the metadata names by file name or name of the part, or the only module if it names
 * none. Undefined for an upload of assets alone. Throws UploadRefused.
 */
export function mainModule(metadata: Metadata, files: readonly UploadedFile[]): MainModule | undefined {
  const { main_module, body_part } = metadata
  if (main_module !== undefined && body_part !== undefined) throw refused('/body_part', 'does not go with main_module')
  if (main_module !== undefined) return named('/main_module', main_module, files)
  if (body_part !== undefined) return named('/body_part', body_part, files)
  const [only, ...others] = files.filter(isModule)
  if (!only && (metadata.assets !== undefined || metadata.keep_assets === true)) return undefined
  if (!only) throw refused('/main_module', 'the upload has no module')
  if (others.length > 0) throw refused('/main_module', 'is required if there are several modules')
  const format = formatOf(only)
  if (!format) throw refused('/main_module', `is required: the only module has the content type ${only.type}`)
  return { format, main: only }
}

/** Returns the issues of the main module for metadata that has other issues. Members of a wrong type have theirs already. */
export function mainModuleIssues(document: unknown, files: readonly UploadedFile[]): readonly UploadIssue[] {
  const metadata = Object(document) as Metadata
  const names: readonly unknown[] = [metadata.main_module, metadata.body_part]
  if (names.some((name) => name !== undefined && (typeof name !== 'string' || name === ''))) return []
  try {
    mainModule(metadata, files)
    return []
  } catch (error) {
    if (error instanceof UploadRefused) return error.issues
    throw error
  }
}

function named(pointer: '/main_module' | '/body_part', name: string, files: readonly UploadedFile[]): MainModule {
  const main = partNamed(name, files)
  if (!main) throw refused(pointer, `names ${JSON.stringify(name)}, which is not an uploaded part`)
  const format = formatOf(main)
  const script = format === 'service-worker'
  if (!format || script !== (pointer === '/body_part'))
    throw refused(
      pointer,
      `names a part of the content type ${main.type}, which is ${script ? 'a service-worker script' : 'not one for it'}`,
    )
  return { format, main }
}

/** Names that can refer to a file. */
export type NamedPart = Pick<UploadedFile, 'name' | 'part'>

/** Returns the file with this file name, or else the file of the part with this name. */
export function partNamed<F extends NamedPart>(name: string, files: readonly F[]): F | undefined {
  const path = modulePath(name)
  return files.find((file) => file.name === path) ?? files.find(({ part }) => part === name)
}

function formatOf({ type }: UploadedFile): ScriptFormat | undefined {
  if (type.endsWith('+module')) return 'modules'
  if (type === PYTHON) return 'python'
  return SCRIPTS.includes(type) ? 'service-worker' : undefined
}

/** Returns the hexadecimal SHA-256 over the name of the main file and the names, types and bytes of all files. */
export function contentEtag(main: string | undefined, files: readonly UploadedFile[]): string {
  const hash = createHash('sha256').update(JSON.stringify([main ?? null]))
  for (const { name, type, bytes } of [...files].sort((a, b) => (a.name < b.name ? -1 : 1)))
    hash.update(JSON.stringify([name, type, bytes.length])).update(bytes)
  return hash.digest('hex')
}

const refused = (pointer: string, message: string): Error =>
  new UploadRefused([{ kind: 'invalidScript', pointer, message }])
