import { accessSync, constants } from 'node:fs'
import { resolve } from 'node:path'
import type { ImportedConfig } from '../site/model.js'
import type { Report } from '../site/report.js'
import type { Segment } from './parse.js'

/** Returns certificates and ACME of all sites: Caddy gets certificates by itself unless a site names files. */
export function tlsOf(
  sites: readonly Segment[],
  options: readonly Segment[],
  folder: string,
  report: Report,
): NonNullable<ImportedConfig['tls']> {
  const option = (name: string) => options.find((each) => each.name === name)
  const certificates: { cert_file: string; key_file: string }[] = []
  let email = option('email')?.args[0]
  let directory = option('acme_ca')?.args[0]
  let onDemand = false
  let minVersion: string | undefined
  let automatic = false
  for (const { block = [] } of sites) {
    const tls = block.filter(({ name }) => name === 'tls')
    let hasFiles = false
    for (const { args, block: inner = [], place } of tls) {
      const [first = '', second] = args
      if (first === 'internal')
        report.add(place, 'tls internal', 'edged has no authority of its own; the names get certificates by ACME')
      else if (second !== undefined) {
        const pair = { cert_file: resolve(folder, first), key_file: resolve(folder, second) }
        const missing = Object.values(pair).find((path) => !isReadable(path))
        if (missing === undefined) {
          certificates.push(pair)
          hasFiles = true
        } else
          report.add(
            place,
            `tls ${first} ${second}`,
            `cannot read ${missing}; the names get certificates by ACME unless you add the files`,
          )
      } else if (first.includes('@')) email ??= first
      for (const { name, args: values, place: at } of inner) {
        if (name === 'on_demand') onDemand = true
        else if (name === 'protocols') minVersion ??= values[0] === 'tls1.3' ? '1.3' : undefined
        else if (name === 'ca') directory ??= values[0]
        else if (name === 'dns')
          report.add(
            at,
            `dns ${values[0] ?? ''}`,
            'set `proxy.tls.acme.challenges: [dns-01]` and `dns.command`, a program that writes the record',
          )
        else if (!['ciphers', 'curves', 'alpn', 'key_type', 'reuse_private_keys'].includes(name))
          report.add(at, `tls ${name}`, 'edged has no such option of one site')
      }
    }
    automatic ||= !hasFiles
  }
  const ask = option('on_demand_tls')?.block?.find(({ name }) => name === 'ask')?.args[0]
  const acme = {
    ...(directory !== undefined && { directory }),
    ...(email !== undefined && { email }),
    agree_to_terms: true,
    ...(onDemand && { on_demand: { ask: ask ?? null } }),
  }
  return {
    ...(minVersion !== undefined && { min_version: minVersion }),
    ...(certificates.length > 0 && { certificates }),
    ...(automatic && { acme }),
  }
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}
