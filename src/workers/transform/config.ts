import { randomBytes } from 'node:crypto'
import type { TransformModule } from '../../core/extension/record-transform.js'
import { capnpText, type Capnp } from '../runtime/capnp.js'
import { COLLECTION_FLAGS, GENERATION_FOLDER, type RuntimeConfig } from '../runtime/config.js'
import { BUILT_IN_SOURCE, NO_NETWORK_SOURCE, transformSource } from './source.js'

/** Name of the socket that takes records. */
export const RECORDS_SOCKET = 'records'
/** Name of the service of the module, which the runtime puts before its messages. */
export const TRANSFORM_SERVICE = 'transform'

const COMPATIBILITY_DATE = '2026-01-01'
/** Maximum size of the heap. A larger heap ends the process. */
const HEAP_MEGABYTES = 128

const module = (name: string, esModule: string): Capnp => ({ name, esModule })

/** Returns the configuration of a process that runs one module, without bindings and without network. */
export function transformConfig({ main, modules }: TransformModule): RuntimeConfig {
  // The module cannot know the names of our modules.
  const id = randomBytes(8).toString('hex')
  const builtIn = `edged-${id}-built-in.js`
  const ours = [module(`edged-${id}.js`, transformSource(main, builtIn)), module(builtIn, BUILT_IN_SOURCE)]
  const common = { compatibilityDate: COMPATIBILITY_DATE, globalOutbound: 'no-network' }
  const config = {
    services: [
      {
        name: TRANSFORM_SERVICE,
        worker: {
          ...common,
          modules: [...ours, ...modules.map(({ name, source }) => module(name, source))],
          compatibilityFlags: ['nodejs_compat'],
        },
      },
      // Without this service the runtime adds one that reaches the network.
      { name: 'internet', worker: { ...common, modules: [module('none.js', NO_NETWORK_SOURCE)] } },
      { name: 'no-network', worker: { ...common, modules: [module('none.js', NO_NETWORK_SOURCE)] } },
    ],
    sockets: [
      {
        name: RECORDS_SOCKET,
        address: `unix:${GENERATION_FOLDER}/${RECORDS_SOCKET}`,
        http: {},
        service: TRANSFORM_SERVICE,
      },
    ],
    v8Flags: [`--max-old-space-size=${HEAP_MEGABYTES}`, ...COLLECTION_FLAGS],
  }
  const text = `using Workerd = import "/workerd/workerd.capnp";\nconst config :Workerd.Config = ${capnpText(config)};\n`
  return { text, sockets: [RECORDS_SOCKET], modules: [] }
}
