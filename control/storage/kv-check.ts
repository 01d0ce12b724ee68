import { InvalidInput, type Issue } from '../../src/core/errors.js'
import type { StoredValue } from '../../src/core/model/storage.js'
import {
  KV_LIMITS,
  NoNamespace,
  TooManyKeys,
  type KeyValues,
  type NewValue,
} from '../../src/workers/storage/key-values.js'
import type { Scope } from '../../src/core/scope.js'
import { ApiError } from '../http/errors.js'

const MIN_SECONDS = 60

/** Expiry and metadata of a value, as requests contain them. */
export interface Terms {
  readonly expiration?: number
  readonly expiration_ttl?: number
  readonly metadata?: unknown
}

/** Returns the issues of a key. `pointer` leads to the key. */
export function keyIssues(key: string, pointer: string): Issue[] {
  if (key === '.' || key === '..') return [{ pointer, message: 'must not be . or ..' }]
  const bytes = Buffer.byteLength(key)
  if (bytes >= 1 && bytes <= KV_LIMITS.key) return []
  return [{ pointer, message: `must be 1 to ${KV_LIMITS.key} bytes` }]
}

/** Returns the issues of terms. `now` is in milliseconds. */
export function termIssues({ expiration, expiration_ttl, metadata }: Terms, now: number, pointer: string): Issue[] {
  const issues: Issue[] = []
  if (expiration_ttl !== undefined && expiration_ttl < MIN_SECONDS)
    issues.push({ pointer: `${pointer}/expiration_ttl`, message: `must be at least ${MIN_SECONDS}` })
  if (expiration !== undefined && expiration < now / 1000 + MIN_SECONDS)
    issues.push({ pointer: `${pointer}/expiration`, message: `must be at least ${MIN_SECONDS} seconds from now` })
  if (metadata !== undefined && Buffer.byteLength(JSON.stringify(metadata)) > KV_LIMITS.metadata)
    issues.push({ pointer: `${pointer}/metadata`, message: `must be at most ${KV_LIMITS.metadata} bytes of JSON` })
  return issues
}

/** Returns the stored members of a value with these terms. Seconds to live win over a time. */
export function stay({ expiration, expiration_ttl, metadata }: Terms, now: number): Omit<NewValue, 'key' | 'bytes'> {
  const until = expiration_ttl === undefined ? expiration : Math.floor(now / 1000) + expiration_ttl
  return {
    ...(until !== undefined && { expiration: until }),
    ...(metadata !== undefined && metadata !== null && { metadata }),
  }
}

export function reject(issues: readonly Issue[]): void {
  if (issues.length > 0) throw new InvalidInput(issues)
}

/** Stores values, and says in the API's terms why not. */
export async function put(
  values: KeyValues,
  scope: Scope,
  namespaceId: string,
  all: readonly NewValue[],
): Promise<void> {
  try {
    await values.put(scope, namespaceId, all)
  } catch (error) {
    if (error instanceof TooManyKeys) throw new ApiError('tooManyKeys', undefined, error.message)
    if (error instanceof NoNamespace) throw new ApiError('namespaceNotFound')
    throw error
  }
}

/** Throws `keyNotFound`. */
export function found(values: KeyValues, scope: Scope, namespaceId: string, key: string): StoredValue {
  const value = values.find(scope, namespaceId, key)
  if (!value) throw new ApiError('keyNotFound', undefined, "get: 'key not found'")
  return value
}
