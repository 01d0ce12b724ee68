// HTTP/2 clients with random delays that reset streams, end sessions and cut connections, and origins that break off.
// Each line of a response names its request: no line may reach another stream, and no cut response may look complete.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { table } from '../bench/measure.mjs'
import { drillFolder, startDaemon } from './daemon.mjs'

/** Returns what failed. */
export async function drill(option) {
  const seconds = option('seconds', 60)
  const clients = option('clients', 200)
  const child = (file, ...args) => fork(new URL(file, import.meta.url), args.map(String))
  const origin = child('./child.mjs', 'lines')
  const [port] = await once(origin, 'message')
  const daemon = await startDaemon(drillFolder(), `http://127.0.0.1:${port}`)
  const sender = child('./mixing-child.mjs', new URL(daemon.proxyTls).port, clients, seconds)
  const ended = once(sender, 'exit').then(([code, signal]) => [{ ended: signal ?? code }])
  const [{ counts, wrong, ended: end }] = await Promise.race([once(sender, 'message'), ended])
  // HTTP/2 of this Node.js may have the fault because of which `http2: auto` leaves it off: the drill switches it on.
  if (end !== undefined) return [endedWith(end)]
  origin.disconnect()
  table([{ clients, seconds, ...counts, wrong: wrong.length }])
  const alive = await fetch(`${daemon.admin}/livez`).then(
    ({ status }) => status,
    () => undefined,
  )
  if (alive === undefined) return [endedWith('the daemon')]
  return [
    ...wrong.slice(0, 5),
    counts.complete === 0 && 'no response was complete',
    alive !== 200 && `/livez has ${alive}`,
  ].filter((failure) => failure !== false)
}

const endedWith = (end) =>
  `a process ended (${end}) with nghttp2 ${process.versions.nghttp2}; from 1.68.1 on (Node.js 24) that is a fault`
