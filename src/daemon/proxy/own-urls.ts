/** Ports and URLs of the daemon's own listeners. */
import { listenerOf } from '../../config/pipeline-sources.js'
import type { Config } from '../../config/schema.js'
import { hostAndPort } from '../../http/listen.js'

/** Returns the port that a URL names. */
export const portOf = (url: string): number => Number(new URL(url).port)

/** Returns the ports on which pipelines accept records. */
export const pipelinePorts = ({ pipelines }: Pick<Config, 'pipelines'>): number[] =>
  pipelines.flatMap(({ source }) => {
    const listen = 'http' in source ? listenerOf(source).listen : 'otlp' in source ? source.otlp.listen : undefined
    return listen === undefined ? [] : hostAndPort(listen).port
  })

/** Returns the base URL of a listener, without a slash at its end. */
export const urlOf = ({ address, port }: { address: string; port: number }, scheme = 'http'): string =>
  `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}`
