import type { StoredDeployment } from '../core/model/worker.js'

/** Returns the id of the version for a key. The same key gets the same version, and each version gets its share of keys. */
export function versionFor(visitor: string, { versions }: Pick<StoredDeployment, 'versions'>): string | undefined {
  if (versions.length < 2) return versions[0]?.version_id
  let place = (mixed(visitor) / 2 ** 32) * 100
  for (const { version_id: id, percentage } of versions) {
    place -= percentage
    if (place < 0) return id
  }
  return versions.at(-1)?.version_id
}

/** 32 bits: FNV-1a, whose upper bits neighbouring addresses share, and the last step of MurmurHash3, after which they do not. */
function mixed(text: string): number {
  let hash = 2_166_136_261
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
