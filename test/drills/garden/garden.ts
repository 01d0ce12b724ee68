/**
 * Differential tests of the reader of requests and responses. Each case goes through edged to another server, through that server
 * to edged, and through each alone. A disagreement is unsafe if a server in the middle of a chain reads more requests
 * than the one before it meant, if a client gets a response to something else, or if the cache gives another client a
 * response to other bytes.
 */
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { table } from '../../bench/measure.mjs'
import { readMessage, valuesOf } from './messages.js'
import { caseOf, KINDS, type Case, type Kind } from './mutations.js'
import { GardenOrigin, namedIn, tokenOf, type Arrived } from './origin.js'
import { isInstalled, PEERS, peerPorts, startPeer, type RunningPeer } from './peers.js'

/** Cases that run at the same time. */
const AT_A_TIME = 48
/** How long a connection may be silent before its case is over, in ms. */
const SILENT_MS = 400
/** The same for a case that looks unsafe: it runs again, alone. */
const PATIENT_MS = 3000
const CONFIRMATIONS = 2
/** Host of the zone whose origin is the origin itself. */
const DIRECT = hostOf('direct')

/** Hosts have one length, as tokens have. */
function hostOf(name: string): string {
  return `${name.padEnd(7, '0')}.test`
}

export interface GardenOptions {
  readonly cases: number
  readonly seed: number
  readonly only: string
  readonly account: string
  /** Deleted at the end. */
  readonly folder: string
  /** Starts the daemon with an origin and more zones. */
  start(
    origin: string,
    options: { readonly zones: string },
  ): Promise<{ readonly proxy: string; readonly child: { kill(signal: string): void } }>
}

/** One way from the client to the origin. */
interface Chain {
  readonly name: string
  readonly port: number
  readonly host: string
  /** The other server without edged, if it is part of the chain: what it does alone is no fault of edged. */
  readonly alone?: Chain
}

/** What a client got, and what the origin read. */
interface Outcome {
  /** Requests that the origin read. */
  readonly arrived: readonly Arrived[]
  readonly issue: string | undefined
}

/** Runs the drill. Resolves with unsafe disagreements. */
export async function garden({ cases, seed, only, account, folder, start }: GardenOptions): Promise<string[]> {
  const stops: (() => void)[] = []
  process.on('exit', () => stops.forEach((stop) => stop()))
  const origin = new GardenOrigin()
  const originPort = await origin.listen()
  const names = Object.keys(PEERS).filter((name) => !(only in PEERS) || name === only)
  const present = names.filter(isInstalled)
  for (const name of names)
    if (!present.includes(name)) console.log(`${name}: skipped, not installed (apt-get install ${name})`)
  if (present.length === 0) return []
  const ports = new Map(await Promise.all(present.map(async (name) => [name, await peerPorts()] as const)))
  const zones = [
    [DIRECT, originPort] as const,
    ...[...ports].map(([name, { toOrigin }]) => [hostOf(name), toOrigin] as const),
  ]
  const daemon = await start(`http://127.0.0.1:${originPort}`, {
    zones: zones
      .map(
        ([host, port], index) =>
          `  - { id: ${String(index + 1).padStart(32, 'b')}, account: ${account}, name: ${host}, origin: "http://127.0.0.1:${port}" }`,
      )
      .join('\n'),
  })
  const edged = Number(new URL(daemon.proxy).port)
  const peers = await Promise.all(
    present.map(
      async (name) =>
        await startPeer(name, join(folder, name), { ...ports.get(name)!, edged, origin: originPort }, (stop) =>
          stops.push(stop),
        ),
    ),
  )
  const run = new GardenRun(origin, {
    peers,
    edged,
    seed,
    kinds: KINDS.filter((kind) => !KINDS.includes(only as Kind) || kind === only),
  })
  const failures = await run.all(cases)
  run.print()
  for (const stop of stops) stop()
  daemon.child.kill('SIGTERM')
  origin.close()
  return failures
}

interface Tally {
  cases: number
  /** Cases that edged and the server read alike. */
  alike: number
  /** Requests that reached the origin through edged alone, or through the server alone. */
  edgedMore: number
  peerMore: number
  other: number
  /** Cases that are unsafe for the server alone. Edged had no part in these cases. */
  ownFaults: number
  unsafe: number
}

interface RunOptions {
  readonly peers: readonly RunningPeer[]
  /** Port of edged. */
  readonly edged: number
  readonly seed: number
  readonly kinds: readonly Kind[]
  /** Silence of a connection at first, and in a repeated case. */
  readonly silentMs?: number
  readonly patientMs?: number
}

export class GardenRun {
  readonly #silentMs: number
  readonly #patientMs: number
  readonly #origin: GardenOrigin
  readonly #of: RunOptions
  readonly #tallies = new Map<string, Tally>()
  readonly #failures: string[] = []
  #tokens = 0

  constructor(origin: GardenOrigin, of: RunOptions) {
    this.#origin = origin
    this.#of = of
    this.#silentMs = of.silentMs ?? SILENT_MS
    this.#patientMs = of.patientMs ?? PATIENT_MS
    for (const { name } of of.peers)
      this.#tallies.set(name, { cases: 0, alike: 0, edgedMore: 0, peerMore: 0, other: 0, ownFaults: 0, unsafe: 0 })
  }

  async all(cases: number): Promise<string[]> {
    let next = 0
    const work = async () => {
      while (next < cases) await this.#one(next++)
    }
    await Promise.all(Array.from({ length: AT_A_TIME }, work))
    return this.#failures
  }

  print(): void {
    table(
      this.#of.peers.map(({ name, version }) => {
        const { cases, alike, edgedMore, peerMore, other, ownFaults, unsafe } = this.#tallies.get(name)!
        return {
          server: `${name} ${version}`,
          cases,
          'read alike': alike,
          'more requests by edged': edgedMore,
          'more by the server': peerMore,
          'other differences': other,
          'unsafe without edged': ownFaults,
          unsafe,
        }
      }),
    )
  }

  async #one(number: number): Promise<void> {
    const { peers, edged, kinds } = this.#of
    const peer = peers[number % peers.length]!
    const kind = kinds[Math.floor(number / peers.length) % kinds.length]!
    const tally = this.#tallies.get(peer.name)!
    const alone: Chain = { name: peer.name, port: peer.toOrigin, host: DIRECT }
    const direct: Chain = { name: 'edged', port: edged, host: DIRECT }
    const chains: Chain[] = [
      { name: `edged, ${peer.name}`, port: edged, host: hostOf(peer.name), alone },
      { name: `${peer.name}, edged`, port: peer.toEdged, host: DIRECT, alone },
      direct,
    ]
    tally.cases++
    const [, , ours] = await Promise.all(chains.map(async (chain) => await this.#judged(number, kind, chain, tally)))
    const theirs = await this.#run(number, kind, alone, this.#silentMs)
    const [a, b] = [readingOf(ours!), readingOf(theirs)]
    if (a === b) tally.alike++
    else if (ours!.arrived.length > theirs.arrived.length) tally.edgedMore++
    else if (ours!.arrived.length < theirs.arrived.length) tally.peerMore++
    else tally.other++
  }

  /** Runs a case. One that looks unsafe runs again, alone and with more patience. */
  async #judged(number: number, kind: Kind, chain: Chain, tally: Tally): Promise<Outcome> {
    const outcome = await this.#run(number, kind, chain, this.#silentMs)
    if (outcome.issue === undefined) return outcome
    let last = outcome
    for (let times = 0; times < CONFIRMATIONS; times++) {
      last = await this.#run(number, kind, chain, this.#patientMs)
      if (last.issue === undefined) return last
    }
    const own = chain.alone && (await this.#run(number, kind, chain.alone, this.#patientMs))
    if (own?.issue !== undefined) {
      tally.ownFaults++
      return last
    }
    tally.unsafe++
    const { pieces, response } = caseOf(this.#of.seed, number, { token: tokenOf(number), host: chain.host, kind })
    const shown = JSON.stringify((response ?? Buffer.concat(pieces)).toString('latin1'))
    this.#failures.push(`${chain.name}: case ${number} of ${kind}, seed ${this.#of.seed}: ${last.issue}; ${shown}`)
    return last
  }

  async #run(number: number, kind: Kind, { port, host }: Chain, silentMs: number): Promise<Outcome> {
    // A run of its own for each token: the same case has other names each time.
    const token = tokenOf(this.#tokens++)
    const given = caseOf(this.#of.seed, number, { token, host, kind })
    const arrivals = this.#origin.expect(token)
    if (given.response !== undefined) this.#origin.responses.set(token, given.response)
    try {
      const got = await exchange(port, given, silentMs)
      // Before another client asks.
      const arrived = [...arrivals.requests]
      const issue = issueOf(given, got, { arrived, faults: arrivals.faults, token })
      if (kind === 'responses') return { arrived, issue }
      const clean = await exchange(port, cleanCase(token, host), this.#patientMs)
      return { arrived, issue: issue ?? poisoned(clean, token, host) }
    } finally {
      void setTimeout(this.#patientMs).then(() => this.#origin.forget(token))
    }
  }
}

const readingOf = ({ arrived }: Outcome): string =>
  JSON.stringify(arrived.map(({ method, target, length }) => [method, target.replace(/case\d+z/, ''), length]))

/** What another client asks for afterwards. */
const cleanCase = (token: string, host: string): Case => ({
  pieces: [Buffer.from(`GET /clean/${token}.css HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)],
  methods: ['GET'],
})

/** Sends the bytes of a case on a connection of its own. Resolves with all bytes of the response. */
async function exchange(port: number, { pieces }: Pick<Case, 'pieces'>, silentMs: number): Promise<string> {
  return await new Promise((resolve) => {
    let text = ''
    const socket = connect(port, '127.0.0.1')
    const done = () => {
      socket.destroy()
      resolve(text)
    }
    socket.setNoDelay()
    socket.setTimeout(silentMs, done)
    socket.on('data', (chunk) => (text += chunk.toString('latin1')))
    socket.on('error', done)
    socket.on('close', done)
    void (async () => {
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) await setTimeout(2)
        if (!socket.destroyed) socket.write(piece)
      }
    })()
  })
}

interface Seen {
  readonly arrived: readonly Arrived[]
  readonly faults: readonly string[]
  readonly token: string
}

/** Returns why an outcome is unsafe. */
function issueOf(
  { pieces, methods, response }: Case,
  got: string,
  { arrived, faults, token }: Seen,
): string | undefined {
  const responses: { readonly status: string; readonly id: string | undefined; readonly body: string }[] = []
  for (let text = got; text !== '';) {
    const method = methods[responses.filter(({ status }) => !status.startsWith('1')).length] ?? 'GET'
    const read = readMessage(text, 'response', { method, ended: true })
    if (read === undefined) break
    if ('fault' in read) {
      if (response === undefined && !text.startsWith('HTTP/1.')) break
      return `the client gets bytes that are no response: ${read.fault}`
    }
    const { head, body, rest } = read
    responses.push({
      status: head.line.slice(9, 12),
      id: valuesOf(head, 'x-clean')[0],
      body,
    })
    text = rest
  }
  if (faults.length > 0) return `the origin gets bytes that are no request: ${faults[0]}`
  const finals = responses.filter(({ status }) => !status.startsWith('1'))
  if (response === undefined) {
    const known = new Set(arrived.map(({ id }) => String(id)))
    // Mutations can change the name of the case, so that nobody knows whose the request is.
    const isForeign = (body: string) => {
      const named = namedIn(body)
      return named !== undefined && named !== token && !pieces.some((piece) => piece.includes(named))
    }
    const foreign = finals.find(({ id, body }) => id !== undefined && !known.has(id) && isForeign(body))
    if (foreign !== undefined) return `the client gets the response to a request of another connection (${foreign.id})`
    // Each request that the server in front has read gets a response, also one that it rejects.
    if (arrived.length > finals.length && arrived.some(({ target }) => target.includes('/hidden/')))
      return `the origin reads ${arrived.length} requests, and the client gets ${finals.length} responses`
    return undefined
  }
  if (finals.length > methods.length) return `the client gets ${finals.length} responses to ${methods.length} requests`
  const second = finals[1]
  // A GET is sent again if the connection to the origin ends before its response, so there can be several.
  const meant = arrived.filter(({ target }) => target === `/last/${token}`).map(({ id }) => String(id))
  if (second !== undefined && second.status === '200' && !meant.includes(second.id ?? ''))
    return 'the second response is not the response to the second request'
  return undefined
}

/** Returns why a response to another client is not that of its request. */
function poisoned(got: string, token: string, host: string): string | undefined {
  const read = readMessage(got, 'response', { ended: true })
  if (read === undefined || 'fault' in read || read.head.line.slice(9, 12) !== '200') return undefined
  const { method, target, host: reached, length } = JSON.parse(read.body) as Arrived
  const isMeant =
    method === 'GET' && target === `/clean/${token}.css` && reached.replace(/:80$/, '') === host && length === 0
  return isMeant
    ? undefined
    : `another client gets the response to ${method} ${target} of ${reached} with a body of ${length}`
}
