/** A certificate of the HTTPS listener, or names without one, as `GET /zones/{id}/edged/certificates` returns them. */
export interface Certificate {
  readonly names: readonly string[]
  readonly source: 'file' | 'acme' | 'missing'
  readonly not_before: string | null
  readonly not_after: string | null
  readonly failures: number
  readonly error: string | null
  readonly next_order: string | null
  readonly why?: string
  readonly write?: string
}

/** Returns lines of the configuration file that give names a certificate. */
export function linesFor(kind: 'acme' | 'file', names: readonly string[]): string {
  if (kind === 'file') {
    const base = (names[0] ?? 'example.com').replace(/^\*\./, '')
    return `proxy:\n  tls:\n    listen: 0.0.0.0:443\n    certificates:\n      - cert_file: /etc/edged/${base}.crt   # for ${names.join(', ') || base}\n        key_file: /etc/edged/${base}.key\n`
  }
  const needsDns = names.some((name) => name.startsWith('*'))
  const dns = needsDns
    ? '      challenges: [dns-01]            # the only one for names with *\n      dns: { command: [./dns-hook] }\n'
    : ''
  return `proxy:\n  tls:\n    listen: 0.0.0.0:443\n    acme:\n      email: you@example.com\n      agree_to_terms: true\n${dns}`
}
