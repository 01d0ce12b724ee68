import { kind } from '../store.js'

/** A static file that an account has uploaded. Scope: the account; id: the hash by which its clients know the file. */
export interface StoredAsset {
  /** Name of the blob with its bytes. */
  readonly blob: string
  readonly size: number
  /** Content type; absent: it is served without one. */
  readonly type?: string
}
export const WORKER_ASSETS = kind<StoredAsset>('worker_asset')

/** An upload of static files under way. Scope: the account; id: 32 hexadecimal digits. */
export interface AssetSession {
  /** Name of the Worker. */
  readonly script: string
  /** Name of the blob with the files that were announced. */
  readonly announced: string
  /** Name of the blob with the manifest, once all files are there. */
  readonly manifest?: string
  /** Milliseconds since 1970. What the session refers to is kept until then. */
  readonly expires_at: number
}
export const ASSET_SESSIONS = kind<AssetSession>('worker_asset_session')
