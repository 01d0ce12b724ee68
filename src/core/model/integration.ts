import { kind } from '../store.js'

/** A connection to an application whose findings arrive. It has no credentials. The scope is the account. The id is a UUID. */
export interface StoredIntegration {
  readonly id: string
  readonly application: string
  readonly name: string
  readonly auth_method?: string
  readonly dlp_profiles: readonly string[]
  readonly permissions: readonly string[]
  readonly use_cases: readonly string[]
  readonly is_paused: boolean
  readonly created: string
  readonly updated: string
}
export const INTEGRATIONS = kind<StoredIntegration>('posture_integration')

/** An export of findings, of the instances of one finding, or of assets with content findings. The scope is the account. The id is a UUID. */
export interface StoredExport {
  readonly id: string
  readonly type: 'finding' | 'findingInstance' | 'content'
  readonly user_id: string
  readonly created_at: string
  /** Of an export of instances. */
  readonly finding_id?: string
  /** The body of the request. */
  readonly filters: Readonly<Record<string, unknown>>
}
export const POSTURE_EXPORTS = kind<StoredExport>('posture_export')
