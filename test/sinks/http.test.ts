import t, { type Test } from 'tap'
import { sinkContract, type SinkPlace, type SinkTraits } from '../contracts/sink.js'
import { openEgress } from '../helpers/egress.js'
import { httpReceiver, type Received, type Reply } from '../helpers/http-receiver.js'

/** How the fake of a destination differs: its address, the credential that it wants, and what it makes of a request. */
interface Fake {
  readonly conf: (host: string) => string
  readonly secret: string
  /** Strict as the real one: what it refuses. */
  readonly wrong: (request: Received) => boolean
  /** The text of a batch, out of a request. */
  readonly text?: (request: Received) => string
  readonly answer?: (request: Received) => Reply
  readonly traits?: Partial<SinkTraits>
}

const SECRET = 's3cr3t+Value/=='
const ENCODED = encodeURIComponent(SECRET)

const FAKES: Readonly<Record<string, Fake>> = {
  https: {
    conf: (host) => `https://${host}/in?header_Authorization=Bearer%20${ENCODED}&keep=a%2Fb`,
    secret: SECRET,
    wrong: ({ target, headers }) => target !== '/in?keep=a%2Fb' || headers.authorization !== `Bearer ${SECRET}`,
  },
  splunk: {
    conf: (host) =>
      `splunk://${host}/services/collector/raw?channel=7f0c&insecure-skip-verify=false&sourcetype=json&header_Authorization=Splunk%20${ENCODED}`,
    secret: SECRET,
    wrong: ({ target, headers }) =>
      target !== '/services/collector/raw?channel=7f0c&sourcetype=json' || headers.authorization !== `Splunk ${SECRET}`,
  },
  sentinelone: {
    conf: (host) =>
      `sentinelone://${host}/services/collector/raw?sourcetype=json&header_Authorization=Bearer+${ENCODED}`,
    secret: SECRET,
    wrong: ({ target, headers }) =>
      target !== '/services/collector/raw?sourcetype=json' || headers.authorization !== `Bearer ${SECRET}`,
  },
  sumo: {
    conf: (host) => `sumo://${host}/receiver/v1/http/${ENCODED}`,
    secret: ENCODED,
    wrong: ({ target }) => target !== `/receiver/v1/http/${ENCODED}`,
  },
  newrelic: {
    conf: (host) => `newrelic://${host}/log/v1?Api-Key=${ENCODED}&format=cloudflare`,
    secret: ENCODED,
    wrong: ({ target }) => target !== `/log/v1?Api-Key=${ENCODED}&format=cloudflare`,
  },
}

for (const [name, fake] of Object.entries(FAKES))
  t.test(name, async (t) => {
    const { wrong, answer = () => ({ status: 200 }), text = (request: Received) => request.text } = fake
    const place = async (t: Test): Promise<SinkPlace> => {
      const receiver = await httpReceiver(t, {
        answer: (request) => (request.method !== 'POST' || wrong(request) ? { status: 400 } : answer(request)),
      })
      return {
        conf: fake.conf(receiver.host),
        egress: await openEgress([receiver.server]),
        secrets: [fake.secret],
        delivered: () => receiver.accepted.map(text),
        fail: (fault) => (receiver.fault = fault),
        connections: receiver.connections,
      }
    }
    sinkContract(t, place, { overwrites: false, ...fake.traits })
  })
