import { Type, type TProperties, type TSchema } from 'typebox'
import type { Issue } from '../../core/errors.js'
import type { Binding } from '../../core/model/worker.js'
import { issuesOf } from '../../core/schema.js'

/** A binding type with its members and the names of the secret members. */
export interface BindingKind {
  /** Value of the `type` member. */
  readonly type: string
  /** For the manual. Unknown members are stored too. */
  readonly schema: TSchema
  /** Members that are encrypted when stored and never returned. */
  readonly secret: readonly string[]
  /** The member that names an uploaded part. Such bindings belong to service-worker scripts. */
  readonly part?: 'part'
  /** A valid binding. */
  readonly example: Binding
  /** Returns the issues of a binding. Pointers are relative to the binding. */
  issues(binding: Binding): readonly Issue[]
  /** Returns the stored form of a binding, with older member names replaced by newer ones. */
  normalize(binding: Binding): Binding
}

export interface BindingSpec {
  readonly type: string
  readonly description: string
  /** Besides `name` and `type`. */
  readonly fields?: TProperties
  readonly secret?: readonly string[]
  readonly part?: 'part'
  readonly example?: Readonly<Record<string, unknown>>
  /** Checks that a schema cannot express. Called if the schema accepts the binding. */
  readonly check?: (binding: Binding) => readonly Issue[]
  readonly normalize?: (binding: Binding) => Binding
}

/** The name of a member of `env`. */
export const BindingName = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
  'x-message': 'must be 1 to 255 characters without control characters',
  description: 'The JavaScript name of the binding.',
})

/** The name or id of something that a binding points at. */
export const Ref = (description: string) =>
  Type.String({ minLength: 1, maxLength: 1024, 'x-message': 'must be a text of 1 to 1024 characters', description })

/** Creates a binding type. */
export function bindingKind(spec: BindingSpec): BindingKind {
  const { type, description, fields = {}, secret = [], part, example = {}, check, normalize } = spec
  const schema = Type.Object({ name: BindingName, type: Type.Literal(type), ...fields }, { description })
  const issues = issuesOf(schema)
  return {
    type,
    schema,
    secret,
    ...(part && { part }),
    example: { name: 'MY_BINDING', type, ...example },
    issues(binding) {
      const found = issues(binding)
      return found.length > 0 || !check ? found : check(binding)
    },
    normalize: normalize ?? ((binding) => binding),
  }
}
