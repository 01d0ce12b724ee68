import { Type, type Static } from 'typebox'
import { InvalidInput } from '../../../src/core/errors.js'
import { strict } from '../../../src/core/schema.js'
import { PART_TYPES, uploadedFiles, type FormPart, type UploadForm } from '../../../src/workers/upload/form.js'

/** A module in a JSON body. */
export const JsonModule = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 1024 }),
    content_type: Type.String({ enum: [...PART_TYPES] }),
    content_base64: Type.String(),
  },
  strict,
)

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
/** Files of assets that may come as modules, for the member of `assets.config` with their name. */
const RULES: readonly string[] = ['_headers', '_redirects']

interface Body {
  readonly modules?: readonly Static<typeof JsonModule>[]
  readonly assets?: { readonly config?: object }
}

/** Returns the form that a JSON body represents. Throws InvalidInput and UploadRefused. */
export function uploadOf({ modules = [], ...metadata }: Body): UploadForm {
  const issues = modules.flatMap(({ content_base64: text }, index) =>
    BASE64.test(text) && text.length % 4 === 0
      ? []
      : [{ pointer: `/modules/${index}/content_base64`, message: 'must be base64' }],
  )
  if (issues.length > 0) throw new InvalidInput(issues)
  const parts = modules.map(({ name, content_type: type, content_base64: text }, index): FormPart => ({
    name,
    pointer: `/modules/${index}`,
    filename: name,
    type,
    bytes: Buffer.from(text, 'base64'),
  }))
  const { assets } = metadata
  if (!assets) return { metadata, files: uploadedFiles(parts) }
  const rules = parts.filter(({ name }) => RULES.includes(name))
  const config = Object.fromEntries(rules.map(({ name, bytes }) => [name, bytes.toString('utf8')]))
  return {
    metadata: { ...metadata, assets: { ...assets, config: { ...assets.config, ...config } } },
    files: uploadedFiles(parts.filter((part) => !rules.includes(part))),
  }
}
