import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** Whether a program can be called by its name. */
export function installed(name) {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Whether a package of test/bench/package.json is there. */
export function hasPackage(name) {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}

/** A port that nobody listens on at the moment. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Resolves once something listens on the port. */
export async function accepting(port) {
  for (let i = 0; i < 100; i++) {
    const socket = connect(port, '127.0.0.1')
    const up = await new Promise((resolve) =>
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false)),
    )
    socket.destroy()
    if (up) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`nothing listens on ${port}`)
}
