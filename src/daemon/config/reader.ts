import { extname } from 'node:path'
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads'
import { BadConfig, compiledPipelines, readConfig, type ConfigIssue } from '../../config/load.js'
import type { Config, ZoneConfig } from '../../config/schema.js'
import { readText } from '../../config/yaml.js'
import { systemClock } from '../../core/clock.js'
import type { TransformModule } from '../../core/extension/record-transform.js'
import { EventLoopYield } from '../../core/schedule/event-loop-yield.js'
import { silentLog } from '../../core/log.js'
import { loadedPlugins } from '../../plugins/load.js'
import { describedText } from './changes.js'
import { destinationChecks } from '../pipelines/destinations.js'

/** Input of a thread. */
export interface ConfigToRead {
  readonly text: string
  readonly file: string
  /** Absolute paths of the plug-ins of this process. */
  readonly plugins: readonly string[]
  readonly port: MessagePort
}

/** Results of a thread: zones in slices, and at the end the rest; or the issues of the file. */
export type ConfigMessage =
  | { readonly zones: readonly ZoneConfig[] }
  | {
      readonly rest: Omit<Config, 'zones' | 'pipelines'>
      /** Pipelines, before they are compiled. */
      readonly documents: readonly unknown[]
      /** Their modules, which the thread has started once. */
      readonly modules: readonly TransformModule[]
      /** What {@link describedText} returns for them. */
      readonly described: string
    }
  | { readonly faults: readonly ConfigIssue[] }

/** A longer file is read in a thread: 10,000 zones take most of a second. This size takes up to 20 ms. */
const MAX_INLINE_CHARACTERS = 16 * 1024

const THREAD = new URL(`./config-thread${extname(import.meta.url)}`, import.meta.url)
const CHECKS = destinationChecks({ clock: systemClock, log: silentLog })
const slices = new EventLoopYield()

/** Reads the configuration file while the daemon serves; rejects with {@link BadConfig}. */
export async function readAgain(file: string, inForce: Pick<Config, 'pipelines'>): Promise<Config> {
  const text = readText(file)
  // The tables of some expressions, and the start of a module, take longer than a turn.
  const hasRules = /^\s*["']?rules["']?\s*:|\btransform\b/m.test(text)
  if (text.length <= MAX_INLINE_CHARACTERS && !hasRules) return readConfig(text, file, process.env, CHECKS)
  const { port1: port, port2 } = new MessageChannel()
  const thread = new Worker(THREAD, {
    workerData: { text, file, plugins: loadedPlugins(), port: port2 },
    transferList: [port2],
  })
  try {
    await new Promise<void>((resolve, reject) => {
      thread.once('message', () => resolve())
      thread.once('error', reject)
      thread.once('exit', () => reject(new Error('the thread that reads the configuration ended')))
    })
    return await received(port, file, inForce)
  } finally {
    port.close()
    await thread.terminate()
  }
}

/** Reads one message after the other from the port. As events, all messages would arrive in one turn. */
async function received(port: MessagePort, file: string, inForce: Pick<Config, 'pipelines'>): Promise<Config> {
  const zones: ZoneConfig[] = []
  for (;;) {
    const { message } = receiveMessageOnPort(port) as { message: ConfigMessage }
    if ('faults' in message) throw new BadConfig(message.faults)
    if ('rest' in message) {
      const config = { ...message.rest, zones }
      const isUnchanged = message.described === describedText(inForce.pipelines)
      const pipelines = isUnchanged
        ? inForce.pipelines
        : compiledPipelines(config, message.documents, file, checksOf(message))
      return { ...config, pipelines }
    }
    zones.push(...message.zones)
    await slices.yieldToEventLoop()
  }
}

/** The code of a transform is what the thread has checked. The file may have changed since. */
const checksOf = ({ modules }: { readonly modules: readonly TransformModule[] }) => ({
  ...CHECKS,
  transform: (path: string) => modules.find(({ file }) => file === path) ?? `${path} was not read`,
})
