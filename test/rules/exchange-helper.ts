import { Exchange } from '../../src/edge/exchange/exchange.js'
import { testZone } from '../helpers/proxy.js'

type Arrival = ConstructorParameters<typeof Exchange>[0]

/** Creates the exchange of a request, by default `GET /` for `example.test` without header fields. */
export const arrived = (members: Partial<Arrival> = {}): Exchange =>
  new Exchange({
    rayId: '0123456789abcdef',
    clientAddress: '192.0.2.1',
    scheme: 'http',
    served: { zone: testZone('http://127.0.0.1:1'), host: 'example.test', custom: undefined },
    method: 'GET',
    target: '/',
    httpVersion: '1.1',
    rawHeaders: [],
    headers: [],
    local: {},
    tls: undefined,
    trustedFields: undefined,
    startedAt: 0,
    startedMonotonic: 0,
    ...members,
  })
