import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Config } from '../../config/schema.js'
import type { Clock } from '../../core/clock.js'
import type { StreamRequest, StreamSource } from '../../core/machine-streams.js'
import { account } from '../../core/scope.js'
import { hostAndPort } from '../../http/listen.js'
import { redisTarget } from '../../store/redis/url.js'
import type { Runtime } from '../../workers/runtime/runtime.js'
import { MachineLink, type LinkEnd } from './link.js'
import { FrameSender } from './frames.js'
import type { HomesDeps, MachineReply, MachineRequest } from './homes.js'

const CONNECT_MS = 5000
const RETRY_MS = 1000
/** Calls of other machines get this long when this one stops. */
const DRAIN_MS = 5000
/** Of scripts that do not run, in a reply. */
const MAX_FAILURES = 20
const MAX_REASON = 1000
/** Streams to all other machines at the same time; more are refused. */
const MAX_STREAMS = 1024

/** What other machines use of the runtime. */
export type HomeRuntime = Pick<Runtime, 'accept' | 'caughtUp'>

/** Receives calls of other machines for Durable Objects and D1 databases, and sends them what tails there show. */
export class WorkerHomeServer {
  readonly #link: MachineLink
  readonly #clock: Clock
  /** Calls in progress, without WebSockets. */
  readonly #calls = new Set<Duplex>()
  #streams = 0
  /** What other machines can follow, by type. */
  readonly sources = new Map<StreamRequest['type'], StreamSource>()
  /** Where other machines reach this one. */
  readonly address: string
  /** Resolves when the scripts run. */
  readonly #runtime: Promise<HomeRuntime>
  #started: (runtime: HomeRuntime) => void = () => undefined

  private constructor(link: MachineLink, advertised: string | null, clock: Clock) {
    this.#link = link
    this.#clock = clock
    this.address = withPort(advertised ?? link.address, link.address)
    this.#runtime = new Promise((resolve) => (this.#started = resolve))
  }

  /** Listens. Rejects with what to change if that is not possible. */
  static async open(
    { machines, store }: Pick<Config, 'machines' | 'store'>,
    { keys, self, clock, log }: Pick<HomesDeps, 'keys' | 'self' | 'clock' | 'log'>,
  ): Promise<WorkerHomeServer> {
    const listen = machines.listen === 'auto' ? `${await addressTowards(store, clock)}:0` : machines.listen
    const link = await MachineLink.listen(listen, keys, log)
    const opened = new WorkerHomeServer(link, machines.advertise, clock)
    link.handle = async (request, end) => await opened.#serve(request as MachineRequest, end, self)
    log.info({ event: 'machines_listening', address: opened.address })
    return opened
  }

  /** Port on which it listens. */
  get port(): number {
    return hostAndPort(this.#link.address).port
  }

  /** The scripts run: calls that wait get their responses. */
  serve(runtime: HomeRuntime): void {
    this.#started(runtime)
  }

  /** Takes no further calls, and closes all connections when the calls in progress have ended, or after a while. */
  async drain(): Promise<void> {
    this.#link.stop()
    const ended = [...this.#calls].map(async (call) => await new Promise((resolve) => call.once('close', resolve)))
    await Promise.race([Promise.all(ended), this.#clock.sleep(DRAIN_MS)])
    this.#link.close()
  }

  close(): void {
    this.#link.close()
  }

  /** The other side has the secret key of the installation, but may be of another version. */
  async #serve({ to, account: id, call }: MachineRequest, end: LinkEnd, self: string): Promise<void> {
    if (to !== self) throw new Error('another machine has this address: set machines.listen or machines.advertise')
    const scope = account(id)
    const answer = (value: MachineReply): void => {
      end.reply(value)
      end.socket.end()
    }
    if (call === 'ping') answer({})
    else if (call === 'apply') {
      const failures = [...(await (await this.#runtime).caughtUp(scope))]
      answer({ failures: failures.slice(0, MAX_FAILURES).map(([script, text]) => [script, text.slice(0, MAX_REASON)]) })
    } else if ('stream' in call) {
      await this.#stream(call.stream, end)
    } else {
      if (!call.mayStay) {
        this.#calls.add(end.socket)
        end.socket.once('close', () => this.#calls.delete(end.socket))
      }
      await (await this.#runtime).accept(scope, end.socket, call, () => end.reply({}))
    }
  }

  /** Sends until the other machine closes the connection. */
  async #stream({ type, scope, input }: StreamRequest, end: LinkEnd): Promise<void> {
    const { socket } = end
    // A machine that starts has none.
    await this.#runtime
    const source = this.sources.get(type)
    if (!source) throw new Error('this machine has nothing of this type')
    if (this.#streams >= MAX_STREAMS) throw new Error('too many streams to other machines')
    if (socket.destroyed) return
    this.#streams += 1
    const stop = new AbortController()
    socket.once('close', () => {
      this.#streams -= 1
      stop.abort()
    })
    // It sends nothing; reading notices its end.
    socket.resume()
    socket.once('end', () => socket.destroy())
    const sender = new FrameSender(socket)
    await source({ scope, input }, sender, stop.signal)
    end.reply({})
    sender.open()
  }
}

/** Port 0 means the one that is bound. */
function withPort(address: string, bound: string): string {
  const { port } = hostAndPort(address)
  return port === 0 ? `${address.slice(0, -1)}${hostAndPort(bound).port}` : address
}

/** Returns the address that this machine uses towards Redis: the other machines are most likely in the same network. */
async function addressTowards(store: string, clock: Clock): Promise<string> {
  const { hosts } = redisTarget(store)
  for (let n = 0; ; n++) {
    const to = hosts[n % hosts.length]!
    const socket = connect(to)
    socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('no connection')))
    try {
      const address = await new Promise<string | undefined>((resolve, reject) => {
        socket.once('connect', () => resolve(socket.localAddress))
        socket.once('error', reject)
      })
      const plain = (address ?? '').replace(/^::ffff:/, '')
      if (plain !== '') return plain.includes(':') ? `[${plain}]` : plain
    } catch {
      // It responded a moment ago.
    } finally {
      socket.destroy()
    }
    await clock.sleep(RETRY_MS)
  }
}
