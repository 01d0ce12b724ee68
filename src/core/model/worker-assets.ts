import { kind } from '../store.js'

/**
 * An uploaded static file of an account. The scope is the account. The id is the hash that its clients use for the
 * file.
 */
export interface StoredAsset {
  /** Name of the blob with its bytes. */
  readonly blob: string
  readonly size: number
  /** Content type. Absent if the file is served without one. */
  readonly type?: string
}
export const WORKER_ASSETS = kind<StoredAsset>('worker_asset')

/** An upload of static files in progress. The scope is the account. The id is 32 hexadecimal digits. */
export interface AssetSession {
  /** Name of the Worker. */
  readonly script: string
  /** Name of the blob with the announced files. */
  readonly announced: string
  /** Name of the blob with the manifest, once all files are uploaded. */
  readonly manifest?: string
  /** Milliseconds since 1970. The blobs of the session are retained until then. */
  readonly expires_at: number
}
export const ASSET_SESSIONS = kind<AssetSession>('worker_asset_session')
