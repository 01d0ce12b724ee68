import { createHash } from 'node:crypto'
import { SCHEMA } from '../../../src/store/migrations/index.js'
import { AUDIT, BEGIN, CHANGES, COMMIT, META, rowName } from '../../../src/store/redis/script.js'
import { Life, type Scheduler } from '../scheduler.js'

type Hash = Readonly<Record<string, string>>
type StreamEntry = readonly [id: string, fields: readonly string[]]
type Value = Hash | readonly StreamEntry[] | string

/** An error that the server returns. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError'
}

/** Streams are cut when they have this many entries more than they keep. */
const SLACK = 128

/** What makes the simulated server worse than Redis, to prove that a run notices. */
export interface RedisFlaws {
  /** Runs a batch without comparing its versions. */
  readonly blind?: boolean
  /** The change stream has the first record of each batch. */
  readonly partial?: boolean
  /** Says that a replica has what it has not. */
  readonly hasty?: boolean
}

/** Keys of the data and of the version before each batch of changes, so that the tail can be lost. */
interface Undo {
  readonly time: number
  readonly before: Map<string, Value | undefined>
}

/**
 * A server that answers the commands of the store. Its replica gets each change after a while. A restart keeps all data, or loses
 * the last milliseconds, as `appendfsync everysec` does. A failover leaves what the replica has.
 */
export class SimulatedRedis {
  readonly life = new Life('redis')
  readonly #scheduler: Scheduler
  readonly #flaws: RedisFlaws
  readonly #data = new Map<string, Value>()
  readonly #undo: Undo[] = []
  readonly #scripts = new Set<string>()
  #changes = new Map<string, Value | undefined>()
  #scanned = ''
  #run = 1
  /** Changes that the replica has. Undefined without a replica. */
  #replica: number | undefined
  #audited = 0

  constructor(scheduler: Scheduler, { replica, flaws = {} }: { replica: boolean; flaws?: RedisFlaws }) {
    this.#scheduler = scheduler
    this.#flaws = flaws
    if (replica) this.#replica = 0
  }

  get version(): number {
    return Number((this.#data.get(META) as Hash | undefined)?.['version'] ?? 0)
  }

  /** Number of changes so far. */
  get offset(): number {
    return this.#undo.length
  }

  get hasReplica(): boolean {
    return this.#replica !== undefined
  }

  replicated(offset: number): boolean {
    return this.#flaws.hasty === true || (this.#replica ?? 0) >= offset
  }

  /** The replica has all changes up to an offset. */
  replicate(offset: number): void {
    if (this.#replica !== undefined) this.#replica = Math.max(this.#replica, Math.min(offset, this.offset))
  }

  /** A replica begins. It has all that there is. */
  addReplica(): void {
    this.#replica = this.offset
  }

  /** Another run of the server, which lacks the changes since `time`, or with a failover what the replica lacks. */
  restart({ since = Infinity, failover = false }: { since?: number; failover?: boolean } = {}): void {
    this.#run++
    this.#scripts.clear()
    const kept = failover ? this.#replica! : this.#undo.filter(({ time }) => time < since).length
    while (this.#undo.length > kept)
      for (const [key, value] of this.#undo.pop()!.before) {
        if (value === undefined) this.#data.delete(key)
        else this.#data.set(key, value)
      }
    if (failover) this.#replica = undefined
  }

  /** Runs a command as one step. */
  run(name: string, args: readonly string[]): unknown {
    this.#changes = new Map()
    try {
      return this.#command(name, args)
    } finally {
      if (this.#changes.size > 0) this.#undo.push({ time: this.#scheduler.time, before: this.#changes })
    }
  }

  #command(name: string, args: readonly string[]): unknown {
    const [key = '', ...rest] = args
    switch (name) {
      case 'ping':
        return 'PONG'
      case 'info':
        return `run_id:${this.#run}\r\naof_enabled:0\r\nconnected_slaves:${this.hasReplica ? 1 : 0}\r\n`
      case 'xlen':
        return this.#stream(key).length
      case 'hget':
        return this.#hash(key)[rest[0]!] ?? null
      case 'hmget':
        return rest.map((field) => this.#hash(key)[field] ?? null)
      case 'hset':
        return this.#hset(key, rest)
      case 'del':
        return this.#put(key, undefined)
      case 'set':
        return this.#set(key, rest)
      case 'exec':
        return (JSON.parse(key) as string[][]).map(([each, ...of]) => [null, this.#command(each!, of)])
      case 'scan':
        return this.#scan(args)
      case 'xrange':
        return this.#between(key, rest)
      case 'xread':
        return this.#after(args.at(-2)!, args.at(-1)!)
      case 'evalsha':
      case 'eval':
        return this.#script(name, args)
      default:
        throw new Error(`the simulated Redis has no ${name}`)
    }
  }

  #script(name: string, [script = '', count = '', ...rest]: readonly string[]): unknown {
    const keys = rest.slice(0, Number(count))
    const args = rest.slice(Number(count))
    if (name === 'eval') this.#scripts.add(createHash('sha1').update(script).digest('hex'))
    else if (!this.#scripts.has(script)) throw new ReplyError('NOSCRIPT No matching script.')
    if (script === BEGIN) return this.#begin(args)
    if (script === COMMIT.lua || script === COMMIT.sha) return this.#commit(keys, args)
    throw new Error('the simulated Redis does not have this script')
  }

  #begin([epoch]: readonly string[]): unknown {
    if (!this.#data.has(META)) {
      this.#put(CHANGES, undefined)
      this.#put(META, { schema: String(SCHEMA), epoch: epoch!, version: '0' })
    }
    return this.#command('hmget', [META, 'schema', 'epoch', 'migrating'])
  }

  /** Does what the script that commits does. */
  #commit(keys: readonly string[], args: readonly string[]): unknown {
    const [epoch, changesKept, auditKept, countText] = args
    const count = Number(countText)
    const meta = this.#hash(META)
    if (meta['epoch'] !== epoch) return ['epoch']
    for (let i = 0; i < count; i++) {
      const wanted = args[4 + 2 * i]!
      const found = this.#hash(keys[3 + i]!)['v'] ?? '0'
      if (wanted !== '' && wanted !== found && this.#flaws.blind !== true)
        return ['conflict', this.version, i + 1, Number(found)]
    }
    const version = this.version + 1
    this.#put(META, { ...meta, version: String(version) })
    const written: string[] = []
    for (let i = 0; i < count; i++) {
      const [key, json] = [keys[3 + i]!, args[5 + 2 * i]!]
      this.#put(key, json === '' ? undefined : { v: String(version), j: json })
      written.push(json === '' ? `[${rowName(key)}]` : `[${rowName(key)},${json}]`)
    }
    for (const entry of args.slice(4 + 2 * count)) this.#add(AUDIT, `${++this.#audited}-0`, ['e', entry])
    if (this.#flaws.partial === true) written.length = 1
    this.#add(CHANGES, `${version}-0`, ['c', `[${written.join()}]`])
    this.#cut(CHANGES, Number(changesKept))
    this.#cut(AUDIT, Number(auditKept))
    return ['done', version]
  }

  #put(key: string, value: Value | undefined): number {
    const before = this.#data.get(key)
    if (!this.#changes.has(key)) this.#changes.set(key, before)
    if (value === undefined) this.#data.delete(key)
    else this.#data.set(key, value)
    return before === undefined ? 0 : 1
  }

  /** Returns the number of new fields. */
  #hset(key: string, pairs: readonly string[]): number {
    const before = this.#hash(key)
    const hash: Record<string, string> = { ...before }
    for (let i = 0; i < pairs.length; i += 2) hash[pairs[i]!] = pairs[i + 1]!
    this.#put(key, hash)
    return Object.keys(hash).length - Object.keys(before).length
  }

  /** Sets a lock that expires, if nobody has it. */
  #set(key: string, [value, , ms]: readonly string[]): string | null {
    if (this.#data.has(key)) return null
    this.#put(key, value)
    this.#scheduler.later(this.life, 'expire', Number(ms), () => this.run('del', [key]))
    return 'OK'
  }

  #add(key: string, id: string, fields: readonly string[]): void {
    this.#put(key, [...this.#stream(key), [id, fields]])
  }

  #cut(key: string, kept: number): void {
    const stream = this.#stream(key)
    if (stream.length > kept + SLACK) this.#put(key, stream.slice(-kept))
  }

  #hash(key: string): Hash {
    return (this.#data.get(key) as Hash | undefined) ?? {}
  }

  #stream(key: string): readonly StreamEntry[] {
    return (this.#data.get(key) as readonly StreamEntry[] | undefined) ?? []
  }

  /** Half of the keys, then the others. */
  #scan([cursor, , pattern]: readonly string[]): unknown {
    const start = pattern!.slice(0, -1)
    const keys = [...this.#data.keys()].filter((key) => key.startsWith(start)).sort()
    if (cursor === '0') {
      const half = keys.slice(0, Math.ceil(keys.length / 2))
      this.#scanned = half.at(-1) ?? ''
      return [keys.length > half.length ? '1' : '0', half]
    }
    return ['0', keys.filter((key) => key > this.#scanned)]
  }

  #between(key: string, [from, to, , count]: readonly string[]): unknown {
    const isAfter = from!.startsWith('(')
    const first = from === '-' ? 0 : numberOf(from!.replace('(', '')) + (isAfter ? 1 : 0)
    if (to !== '+') throw new Error('the simulated Redis reads to the end')
    return this.#stream(key)
      .filter(([id]) => numberOf(id) >= first)
      .slice(0, Number(count ?? Infinity))
  }

  #after(key: string, from: string): unknown {
    const found = this.#stream(key).filter(([id]) => numberOf(id) > numberOf(from))
    return found.length === 0 ? null : [[key, found.slice(0, 256)]]
  }
}

const numberOf = (id: string): number => Number(id.split('-', 1)[0])
