import type { TSchema } from 'typebox'
import { pointerToken } from '../../core/schema.js'
import { unflatten } from './form-metadata.js'
import { Metadata } from '../metadata/schema.js'
import { reject, UploadRefused, type UploadIssue } from '../upload-errors.js'

/** One part of a form. */
export interface FormPart {
  readonly name: string
  readonly filename?: string
  /** Content type without parameters, in lower case; `text/plain` if the part has none. */
  readonly type: string
  readonly bytes: Buffer
  /** Value of the bytes, if they are JSON that was parsed before. */
  readonly json?: unknown
  /** Where it is in a JSON document, if the upload is one. */
  readonly pointer?: string
}

/** One uploaded file. */
export interface UploadedFile {
  /** Normalized path without `./` at the start and without empty steps. */
  readonly name: string
  /**
   * Name of the part, which the metadata may use to name the part. If several parts have the name, the normalized path.
   */
  readonly part: string
  readonly type: string
  readonly bytes: Buffer
  /** As in {@link FormPart}. */
  readonly pointer?: string
}

/** An upload after parsing the form. None of the metadata has been checked. */
export interface UploadForm {
  readonly metadata: unknown
  readonly files: readonly UploadedFile[]
}

/** Content types of modules. */
export const PART_TYPES = [
  'application/javascript+module',
  'text/javascript+module',
  'application/javascript',
  'text/javascript',
  'text/x-python',
  'text/x-python-requirement',
  'application/wasm',
  'text/plain',
  'application/octet-stream',
  'application/source-map',
] as const

const MAX_NAME_LENGTH = 1024

/**
 * Reads a form in either of the ways that clients send: `metadata` as JSON text, or as a field for each of its members. All
 * other parts are files, named by their file names. Throws UploadRefused.
 */
export function readUpload(
  parts: readonly FormPart[],
  { metadataBytes }: { readonly metadataBytes: number },
): UploadForm {
  const { document, others } = readDocument(parts, { name: 'metadata', schema: Metadata, max: metadataBytes })
  if (document === undefined) throw refused('/metadata', 'the part metadata is missing')
  return { metadata: document, files: uploadedFiles(others) }
}

export interface FormDocument {
  /** A JSON object that has not been checked. Undefined if the form has no metadata. */
  readonly document: unknown
  readonly others: readonly FormPart[]
}

/** Reads the document of a form: JSON text in a part of this name, or a field for each of its members. Throws UploadRefused. */
export function readDocument(
  parts: readonly FormPart[],
  { name, schema, max }: { readonly name: string; readonly schema: TSchema; readonly max: number },
): FormDocument {
  const at = `/${name}`
  const isField = (part: FormPart): boolean => part.name.startsWith(`${name}[`)
  const texts = parts.filter((part) => part.name === name)
  const fields = parts.filter(isField)
  const given = [...texts, ...fields].reduce((sum, { bytes }) => sum + bytes.length, 0)
  if (given > max) throw refused(at, `the ${name} has more than ${max} bytes`)
  if (texts.length > 1) throw refused(at, `the part ${name} is given twice`)
  if (texts.length > 0 && fields.length > 0) throw refused(at, `the ${name} is given both as a text and as fields`)
  const [text] = texts
  const others = parts.filter((part) => part !== text && !isField(part))
  if (!text && fields.length === 0) return { document: undefined, others }
  const document = text ? (text.json ?? parsed(name, text.bytes)) : unflatten(name, fields, schema)
  if (document === null || typeof document !== 'object' || Array.isArray(document))
    throw refused(at, `the ${name} must be a JSON object`)
  return { document, others }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function parsed(name: string, bytes: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(bytes))
  } catch (error) {
    // The parser's own message quotes the text, which may hold secrets.
    throw refused(`/${name}`, error instanceof SyntaxError ? `the ${name} is not JSON` : `the ${name} is not UTF-8`)
  }
}

/** Returns the files of a form, without its other parts. Throws UploadRefused. */
export function uploadedFiles(parts: readonly FormPart[]): UploadedFile[] {
  const issues: UploadIssue[] = []
  const files = new Map<string, UploadedFile>()
  const once = new Set<string>()
  const shared = new Set(parts.map(({ name }) => name).filter((name) => once.size === once.add(name).size))
  for (const { name: field, filename, type, bytes, pointer } of parts) {
    const given = filename ?? field
    const at = modulePointer({ name: given.slice(0, MAX_NAME_LENGTH), pointer })
    // wrangler gives a part of a binding the path of its file, which may lie outside the folder of the script.
    const name = modulePath(given) ?? (given === field || shared.has(field) ? undefined : modulePath(field))
    const shown = JSON.stringify(given.slice(0, MAX_NAME_LENGTH))
    if (name === undefined) issues.push(issue(at, `the part ${shown} has a name that is not a path inside the upload`))
    else if (!(PART_TYPES as readonly string[]).includes(type))
      issues.push(
        issue(
          at,
          `the part ${shown} has the content type ${JSON.stringify(type.slice(0, 100))}, expected one of ${PART_TYPES.join(', ')}`,
        ),
      )
    else if (files.has(name)) issues.push(issue(at, `two parts have the name ${JSON.stringify(name)}`))
    else
      files.set(name, {
        name,
        part: shared.has(field) ? name : field,
        type,
        bytes,
        ...(pointer !== undefined && { pointer }),
      })
  }
  reject(issues)
  return [...files.values()]
}

/**
 * Returns the name of a module as a normalized path. Undefined if the name leads out of the upload or is not a path.
 */
export function modulePath(name: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- names end up in logs, headers and configuration
  if (name.length > MAX_NAME_LENGTH || /[\u0000-\u001f\u007f\\\p{Surrogate}]/u.test(name) || name.startsWith('/'))
    return undefined
  const steps: string[] = []
  for (const step of name.split('/')) {
    if (step === '' || step === '.') continue
    if (step !== '..') steps.push(step)
    else if (steps.pop() === undefined) return undefined
  }
  return steps.length > 0 && !name.endsWith('/') ? steps.join('/') : undefined
}

/** Returns the pointer of errors in a module. The parts of a form are named, because a form has no places. */
export const modulePointer = ({
  name,
  pointer,
}: {
  readonly name: string
  readonly pointer?: string | undefined
}): string => pointer ?? `/modules/${pointerToken(name)}`

const issue = (pointer: string, message: string): UploadIssue => ({ kind: 'invalidScript', pointer, message })

const refused = (pointer: string, message: string): Error => new UploadRefused([issue(pointer, message)])
