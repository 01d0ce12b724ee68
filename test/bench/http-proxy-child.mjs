import { Agent } from 'node:http'
import httpProxy from 'http-proxy'

const [target] = process.argv.slice(2)
const proxy = httpProxy.createProxyServer({ target, agent: new Agent({ keepAlive: true, maxSockets: 256 }) })
const server = proxy.listen(0, '127.0.0.1')
server._server.on('listening', () => process.send({ port: server._server.address().port }))
process.on('disconnect', () => process.exit(0))
