// Preloaded into third-party programs (`node --import`): exits if the program would connect to another machine.
import { Socket } from 'node:net'

/** An exit code that programs do not use themselves. */
const LEFT = 86
const OWN = new Set(['127.0.0.1', '::1', 'localhost'])

const { connect } = Socket.prototype
Socket.prototype.connect = function (...args) {
  // `net.connect` passes its normalized arguments as one list.
  const [where, host = 'localhost'] = Array.isArray(args[0]) ? args[0] : args
  const to = typeof where === 'object' ? (where.path ?? where.host ?? 'localhost') : host
  if (typeof to === 'string' && !to.startsWith('/') && !OWN.has(to)) {
    process.stderr.write(`asked for a connection to ${to}\n`)
    process.exit(LEFT)
  }
  return connect.apply(this, args)
}
