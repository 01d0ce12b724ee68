import { bindingKind } from './binding-kind.js'

/** Id, tag and time of the version that runs. */
export const versionMetadata = bindingKind({
  type: 'version_metadata',
  description: 'Id, tag and time of the version that runs.',
})
