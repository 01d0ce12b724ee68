// Hit ratio of the cache in memory beside LRU, on a Zipf trace that scans of one-time requests interrupt.
import { LRUCache } from 'lru-cache'
import { Body } from '../../dist/src/edge/cache/entries/body.js'
import { Entry } from '../../dist/src/edge/cache/entries/entry.js'
import { MemoryStore } from '../../dist/src/edge/cache/entries/memory.js'
import { sized } from './measure.mjs'

const KEYS = 20_000
const REQUESTS = sized(400_000, 40_000)
const BODY = 4096
/** Bytes for about a tenth of the keys. */
const LIMIT = 2000 * (BODY + 1000)
const SCAN_EVERY = 10_000
const SCAN_LENGTH = 2000
const EXPONENT = 0.9

/** Requests by key; the same ones in each run. Keys below 0 are those of scans. */
function trace() {
  let seed = 42
  const random = () => (seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32
  const sums = new Float64Array(KEYS)
  for (let i = 0, sum = 0; i < KEYS; i++) sums[i] = sum += 1 / (i + 1) ** EXPONENT
  const keys = []
  let scanned = 0
  while (keys.length < REQUESTS) {
    const wanted = random() * sums[KEYS - 1]
    let low = 0
    for (let high = KEYS - 1; low < high;) {
      const middle = (low + high) >> 1
      if (sums[middle] < wanted) low = middle + 1
      else high = middle
    }
    keys.push(low)
    if (keys.length % SCAN_EVERY === 0) for (let i = 0; i < SCAN_LENGTH; i++) keys.push(--scanned)
  }
  return keys
}

const freshness = { lifetime: 3600, age: 0, staleWhileRevalidate: 0, staleIfError: 0, mustRevalidate: false }

/** Share of the requests for keys of the Zipf distribution that are hits, of the second half. */
export function hitRatios() {
  const keys = trace()
  const store = new MemoryStore(LIMIT)
  const bytes = Buffer.alloc(BODY)
  const ours = (key) => {
    const name = `zone http://bench.test/objects/${key} http://origin`
    const found = store.find(name)?.at(-1)
    if (found) {
      store.hit(found)
      return true
    }
    const body = new Body(store, BODY)
    body.append(bytes)
    body.seal()
    const facts = { key: name, zone: 'zone', url: name, tags: [], vary: [], varyKey: '', body, born: 0, diskBorn: 0 }
    const head = { status: 200, fields: ['content-type', 'text/plain'], arrivedAt: 0, freshness }
    if (!store.insert(new Entry(facts, head))) body.release()
    return false
  }
  const perEntry = BODY + 700
  const lru = new LRUCache({ maxSize: LIMIT })
  const theirs = (key) => {
    if (lru.get(key)) return true
    lru.set(key, true, { size: perEntry })
    return false
  }
  const ratio = (get) => {
    let hits = 0
    let asked = 0
    keys.forEach((key, i) => {
      const isHit = get(key)
      if (key < 0 || i < keys.length / 2) return
      asked++
      if (isHit) hits++
    })
    return hits / asked
  }
  return { edged: ratio(ours), LRU: ratio(theirs) }
}
