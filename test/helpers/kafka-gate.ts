import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { Egress } from '../../src/egress/egress.js'

const PRODUCE = 0
const METADATA = 3

/** What happens to connections with brokers. */
export interface KafkaGate {
  /** Responses to messages that get lost from now on, with their connections; the brokers have the messages. */
  lost: number
  readonly egress: Egress
}

/**
 * Wraps connections to librdkafka's mock brokers. Their metadata names a controller that does not exist; here it is the
 * first broker.
 */
export function kafkaGate(real: Egress): KafkaGate {
  const connect: Egress['connect'] = async (options) => gated(await real.connect(options), gate)
  const gate: KafkaGate = { lost: 0, egress: Object.assign(Object.create(real) as Egress, { connect }) }
  return gate
}

function gated(socket: Socket, gate: KafkaGate): Socket {
  const asked = new Map<number, { readonly key: number; readonly version: number }>()
  let held = Buffer.alloc(0)
  const outer = new Duplex({
    read: () => socket.resume(),
    write(request: Buffer, _, done) {
      asked.set(request.readInt32BE(8), { key: request.readInt16BE(4), version: request.readInt16BE(6) })
      socket.write(request, done)
    },
    final: (done) => void socket.end(done),
    destroy(error, done) {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', (piece: Buffer) => {
    held = Buffer.concat([held, piece])
    while (held.length >= 4 && held.length >= 4 + held.readInt32BE(0)) {
      const response = held.subarray(0, 4 + held.readInt32BE(0))
      held = held.subarray(response.length)
      const { key, version } = asked.get(response.readInt32BE(4))!
      if (key === PRODUCE && gate.lost > 0) {
        gate.lost--
        outer.destroy(new Error('cut'))
        return
      }
      if (key === METADATA) nameController(response, version)
      outer.push(response)
    }
  })
  socket.on('end', () => outer.push(null)).on('error', (error) => outer.destroy(error))
  return Object.assign(outer, { unref: () => outer }) as unknown as Socket
}

/** Metadata response: correlation id, throttle time, brokers, cluster id, controller. */
function nameController(response: Buffer, version: number): void {
  let at = version >= 3 ? 12 : 8
  const text = () => (at += 2 + Math.max(0, response.readInt16BE(at)))
  const brokers = response.readInt32BE(at)
  at += 4
  const first = response.readInt32BE(at)
  for (let broker = 0; broker < brokers; broker++) {
    at += 4
    text()
    at += 4
    text()
  }
  if (version >= 2) text()
  response.writeInt32BE(first, at)
}
