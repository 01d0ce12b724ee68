// Loaded in front of a program of others (`node --import`): ends it where it would connect to another machine.
import { Socket } from 'node:net'

/** Not what a program ends with by itself. */
const LEFT = 86
const OWN = new Set(['127.0.0.1', '::1', 'localhost'])

const { connect } = Socket.prototype
Socket.prototype.connect = function (...args) {
  // `net.connect` hands over what it made of its own arguments, as one list.
  const [where, host = 'localhost'] = Array.isArray(args[0]) ? args[0] : args
  const to = typeof where === 'object' ? (where.path ?? where.host ?? 'localhost') : host
  if (typeof to === 'string' && !to.startsWith('/') && !OWN.has(to)) {
    process.stderr.write(`asked for a connection to ${to}\n`)
    process.exit(LEFT)
  }
  return connect.apply(this, args)
}
