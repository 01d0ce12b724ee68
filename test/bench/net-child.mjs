// The least that a proxy in Node.js can do: passes bytes between each client and a connection to the origin.
import { connect, createServer } from 'node:net'

const server = createServer({ noDelay: true }, (client) => {
  const origin = connect({ port: Number(process.argv[2]), host: '127.0.0.1', noDelay: true })
  client.on('data', (chunk) => origin.write(chunk))
  origin.on('data', (chunk) => client.write(chunk))
  for (const [one, other] of [
    [client, origin],
    [origin, client],
  ]) {
    one.on('error', () => undefined)
    one.on('close', () => other.destroy())
  }
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit(0))
