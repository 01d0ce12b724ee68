import { bindingKind, Ref } from './binding-kind.js'

/** An app with feature flags. */
export const flagship = bindingKind({
  type: 'flagship',
  description: 'An app with feature flags.',
  fields: { app_id: Ref('Id of the app.') },
  example: { app_id: 'app-1' },
})
