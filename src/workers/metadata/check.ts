import type { Issue } from '../../core/errors.js'
import type { Binding } from '../../core/model/worker.js'
import { issuesOf, soundMembers } from '../../core/schema.js'
import { assetConfigIssues } from '../assets/site.js'
import { BINDINGS } from '../bindings/index.js'
import type { UploadIssue } from '../upload-errors.js'
import { exportIssues } from './exports.js'
import { placementIssues } from './placement.js'
import { Metadata, VersionSettings, type Migrations, type MigrationStep } from './schema.js'

/** Limits of an upload that its schema does not set. */
export interface MetadataLimits {
  readonly bindings: number
  /** Of one variable or secret. */
  readonly valueBytes: number
}

const TAG_BYTES = 100
const MESSAGE_BYTES = 1000
/** Maximum per upload. Each class is searched among all others. */
const MAX_CLASSES = 1000
const MAX_NAME_SHOWN = 200

/**
 * Returns the issues of a metadata document. Empty if the document is a `Metadata`. Pointers are relative to the
 * document.
 */
export const metadataIssues = issuesOfSchema(issuesOf(Metadata))

/**
 * Returns the issues of a document of settings. Empty if the document is a `VersionSettings`. Pointers are relative to
 * the document.
 */
export const settingsIssues = issuesOfSchema(issuesOf(VersionSettings))

function issuesOfSchema(shape: ReturnType<typeof issuesOf>) {
  return (document: unknown, limits: MetadataLimits): UploadIssue[] => {
    const issues = shape(document)
    if (typeof document !== 'object' || document === null || Array.isArray(document)) return issues.map(invalid)
    // Members that fit are checked although others do not, so that one response reports all issues.
    const sound = issues.length === 0 ? document : soundMembers(document, issues)
    return [...issues.map(invalid), ...memberIssues(sound, limits)]
  }
}

function memberIssues(metadata: Metadata, limits: MetadataLimits): UploadIssue[] {
  const { annotations = {}, placement, exports, migrations, bindings = [] } = metadata
  return [
    ...(Buffer.byteLength(annotations['workers/tag'] ?? '') > TAG_BYTES
      ? [invalid({ pointer: '/annotations/workers~1tag', message: `must have no more than ${TAG_BYTES} bytes` })]
      : []),
    ...below('/placement', placement ? placementIssues(placement) : []).map(invalid),
    ...(metadata.assets?.config ? assetConfigIssues(metadata.assets.config, '/assets/config') : []).map(invalid),
    ...(exports ? exportsIssues(exports) : []),
    ...(migrations && classesOf(migrations) > MAX_CLASSES
      ? [invalid({ pointer: '/migrations', message: `names more than ${MAX_CLASSES} classes` })]
      : []),
    ...(exports && migrations ? [invalid({ pointer: '/migrations', message: 'does not go with exports' })] : []),
    ...bindingIssues(bindings, limits),
  ]
}

function exportsIssues(exports: NonNullable<Metadata['exports']>): UploadIssue[] {
  if (Object.keys(exports).length > MAX_CLASSES)
    return [invalid({ pointer: '/exports', message: `has more than ${MAX_CLASSES} entries` })]
  return below('/exports', exportIssues(exports)).map(invalid)
}

/** Returns the number of classes and steps in a migration. */
const classesOf = ({ steps = [], ...single }: Migrations): number =>
  steps.reduce((sum, step) => sum + namedBy(step), steps.length + namedBy(single))

const namedBy = (step: MigrationStep): number =>
  Object.values(step).reduce((sum: number, list) => sum + (Array.isArray(list) ? list.length : 0), 0)

/** Returns the annotations to store. A message that is too long is cut at the end of a character. */
export function keptAnnotations(annotations: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { 'workers/message': message } = annotations
  return { ...annotations, ...(message !== undefined && { 'workers/message': cut(message) }) }
}

function cut(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= MESSAGE_BYTES) return text
  let end = MESSAGE_BYTES
  // The first byte of a character never has the form 10xxxxxx.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

const invalid = ({ pointer, message }: Issue): UploadIssue => ({ kind: 'invalidScript', pointer, message })

const below = (prefix: string, issues: readonly Issue[]): Issue[] =>
  issues.map(({ pointer, message }) => ({ pointer: prefix + pointer, message }))

/** Returns errors in bindings, with pointers into the metadata document. */
export function bindingIssues(
  bindings: readonly Binding[],
  { bindings: max, valueBytes }: MetadataLimits,
): UploadIssue[] {
  if (bindings.length > max) return [tooManyBindings(max)]
  const names = new Map<string, number>()
  return bindings.flatMap((binding, index): UploadIssue[] => {
    const at = `/bindings/${index}`
    const { name, type } = binding as Partial<Binding>
    if (name === undefined || name === '')
      return [{ kind: 'unnamedBinding', pointer: `${at}/name`, message: 'a binding needs a name' }]
    const issue = (member: string, message: string): UploadIssue =>
      invalid({
        pointer: at + member,
        message: `binding ${JSON.stringify(name).slice(0, MAX_NAME_SHOWN)}: ${message}`,
      })
    const kind = typeof type === 'string' ? BINDINGS.get(type) : undefined
    if (!kind) {
      const message = type === undefined ? 'is required' : 'is not a known type of binding'
      return [issue('/type', message)]
    }
    const issues = kind.issues(binding)
    if (issues.length > 0) return issues.map(({ pointer, message }) => issue(pointer, message))
    if (FORBIDDEN.has(name)) return [issue('/name', 'is not a name that a binding may have')]
    const first = names.get(name)
    if (first !== undefined) return [issue('/name', `is the name of binding ${first} already`)]
    names.set(name, index)
    return VALUES.filter((member) => binding[member] !== undefined && size(binding[member]) > valueBytes).map(
      (member) => ({
        kind: 'variableTooLarge',
        pointer: `${at}/${member}`,
        message: `has more than ${valueBytes} bytes`,
      }),
    )
  })
}

export const tooManyBindings = (max: number): UploadIssue => ({
  kind: 'tooManyBindings',
  pointer: '/bindings',
  message: `a script has ${max} bindings at most`,
})

const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Members with the value of a variable or secret. */
const VALUES = ['text', 'json', 'key_base64', 'key_jwk'] as const

const size = (value: unknown): number => Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value))
