import { unflatten } from './flattened.js'
import { Metadata } from './metadata/schema.js'
import { refuse, UploadRefused, type Fault } from './fault.js'

/** One part of a form. */
export interface FormPart {
  readonly name: string
  readonly filename?: string
  /** Content type without parameters, in lower case; `text/plain` where the part has none. */
  readonly type: string
  readonly bytes: Buffer
}

/** One uploaded file. */
export interface UploadedFile {
  /** Normalised path: no `./` in front, no empty steps. */
  readonly name: string
  /** Name of the part, by which the metadata may mean it as well. */
  readonly part: string
  readonly type: string
  readonly bytes: Buffer
}

/** An upload as its sender meant it; nothing of the metadata has been checked. */
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

const FLATTENED = /^metadata\[/
const LONGEST_NAME = 1024

/**
 * Reads a form in either of the ways that clients send: `metadata` as JSON text, or as a field for each of its members. All
 * other parts are files, named by their file names. Throws UploadRefused.
 */
export function readUpload(
  parts: readonly FormPart[],
  { metadataBytes }: { readonly metadataBytes: number },
): UploadForm {
  const texts = parts.filter(({ name }) => name === 'metadata')
  const fields = parts.filter(({ name }) => FLATTENED.test(name))
  const given = [...texts, ...fields].reduce((sum, { bytes }) => sum + bytes.length, 0)
  if (given > metadataBytes) throw refused(`the metadata has more than ${metadataBytes} bytes`)
  if (texts.length > 1) throw refused('the part metadata is given twice')
  if (texts.length > 0 && fields.length > 0) throw refused('the metadata is given both as a text and as fields')
  const [text] = texts
  if (!text && fields.length === 0) throw refused('the part metadata is missing')
  const metadata = text ? parsed(text.bytes) : unflatten(fields, Metadata)
  if (metadata === null || typeof metadata !== 'object' || Array.isArray(metadata))
    throw refused('the metadata must be a JSON object')
  return { metadata, files: uploadedFiles(parts.filter((part) => part !== text && !FLATTENED.test(part.name))) }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(bytes))
  } catch (error) {
    // The parser's own message quotes the text, which may hold secrets.
    throw refused(error instanceof SyntaxError ? 'the metadata is not JSON' : 'the metadata is not UTF-8')
  }
}

function uploadedFiles(parts: readonly FormPart[]): UploadedFile[] {
  const faults: Fault[] = []
  const files = new Map<string, UploadedFile>()
  for (const { name: part, filename, type, bytes } of parts) {
    const given = filename ?? part
    const name = modulePath(given)
    const shown = JSON.stringify(given.slice(0, LONGEST_NAME))
    if (name === undefined) faults.push(fault(`the part ${shown} has a name that is no path inside the upload`))
    else if (!(PART_TYPES as readonly string[]).includes(type))
      faults.push(
        fault(
          `the part ${shown} has the content type ${JSON.stringify(type.slice(0, 100))}, which is none of ${PART_TYPES.join(', ')}`,
        ),
      )
    else if (files.has(name)) faults.push(fault(`two parts have the name ${JSON.stringify(name)}`))
    else files.set(name, { name, part, type, bytes })
  }
  refuse(faults)
  return [...files.values()]
}

/** The name of a module as a normalised path; undefined where it leads out of the upload or is none. */
export function modulePath(name: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- names end up in logs and in configuration
  if (name.length > LONGEST_NAME || /[\u0000-\u001f\u007f\\]/.test(name) || name.startsWith('/')) return undefined
  const steps: string[] = []
  for (const step of name.split('/')) {
    if (step === '' || step === '.') continue
    if (step !== '..') steps.push(step)
    else if (steps.pop() === undefined) return undefined
  }
  return steps.length > 0 && !name.endsWith('/') ? steps.join('/') : undefined
}

const fault = (message: string): Fault => ({ kind: 'invalidScript', message })

const refused = (message: string): Error => new UploadRefused([fault(message)])
