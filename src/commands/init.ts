import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { readConfig } from '../config/load.js'
import { newId } from '../core/ids.js'
import { messageOf } from '../core/errors.js'
import { Exit, type DefineCommand } from './common/command.js'

const FILE = 'edged.yaml'

interface Answers {
  readonly name: string
  readonly origin: string
  readonly listen: string
}

/** What is used if neither a flag nor a person says otherwise. */
const DEFAULTS: Answers = { name: 'example.com', origin: 'demo', listen: '127.0.0.1:8080' }

const QUESTIONS: Readonly<Record<keyof Answers, string>> = {
  name: 'Domain name of the site',
  origin: 'URL of your server, or demo for the bundled sample site',
  listen: 'Address that the proxy listens on',
}

/** `edged init [FOLDER]`: a configuration file to begin with. */
export const init: DefineCommand = (command) => {
  command
    .argument('[folder]', 'folder of the new file', '.')
    .option('--name <domain>', `domain name of the site (default: ${DEFAULTS.name})`)
    .option('--origin <url>', `URL of your server, or demo (default: ${DEFAULTS.origin})`)
    .option('--listen <address>', `address of the proxy (default: ${DEFAULTS.listen})`)
    .option('--json', 'print an object with file and token')
    .addHelpText(
      'after',
      '\nOn a terminal, asks for what no option sets. Elsewhere the defaults apply.' +
        '\nExit codes: 0 written, 2 a file is in the way or a value is not valid.',
    )
    .action(async (folder: string, { json, ...given }: Partial<Answers> & { json?: boolean }) => {
      const answers = { ...DEFAULTS, ...(await asked(given)), ...given }
      const token = `edged_${randomBytes(30).toString('base64url')}`
      const file = join(folder, FILE)
      const text = configText(answers, token)
      readConfig(text, file, {})
      write(folder, file, text)
      process.stdout.write(json ? `${JSON.stringify({ file, token })}\n` : nextSteps({ file, token, ...answers }))
    })
}

/** Asks for the missing values, on a terminal. */
async function asked(given: Partial<Answers>): Promise<Partial<Answers>> {
  const missing = (Object.keys(QUESTIONS) as (keyof Answers)[]).filter((key) => given[key] === undefined)
  if (missing.length === 0 || !process.stdin.isTTY || !process.stderr.isTTY) return {}
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answers: Partial<Record<keyof Answers, string>> = {}
  try {
    for (const key of missing) {
      const answer = (await terminal.question(`${QUESTIONS[key]} [${DEFAULTS[key]}]: `)).trim()
      if (answer !== '') answers[key] = answer
    }
  } finally {
    terminal.close()
  }
  return answers
}

const quoted = (text: string): string => JSON.stringify(text)

const configText = ({ name, origin, listen }: Answers, token: string): string => {
  const account = newId()
  return `# Check this file with: edged check ${FILE}      Every option with its default: edged schema config --yaml
data: ./data

proxy:
  listen: ${quoted(listen)}
  # HTTPS takes these lines, and \`hostnames\` below with the names that certificates are for:
  # tls:
  #   listen: 0.0.0.0:443
  #   acme: { email: me@example.com, agree_to_terms: true } # certificates by themselves; needs port 443 or 80 from outside
  #   certificates: [{ cert_file: ./example.pem, key_file: ./example.key }] # instead of acme

# One line per request. format: combined writes lines as nginx and Apache do.
access_log: { file: ./access.log, format: json }

accounts:
  - { id: "${account}", name: Default }

zones:
  - id: "${newId()}"
    account: "${account}"
    name: ${quoted(name)}
    hostnames: ["*"] # every host that no other zone names
    origin: ${quoted(origin)}
    settings: { content_converter: on } # Markdown for clients that ask for it
    compress: true # text responses for clients that accept it
    # Other origins, folders of files, and passwords by path; the first that matches:
    # paths:
    #   - { path: "/api/*", origin: "http://127.0.0.1:9001", strip_prefix: /api }
    #   - { path: "/files/*", root: ./public, strip_prefix: /files }

# A token for the API with all permissions. This file is readable by its owner only: keep it so.
tokens:
  - { name: admin, token: ${quoted(token)}, permissions: ["*"], accounts: ["*"], zones: ["*"] }
`
}

function write(folder: string, file: string, text: string): void {
  try {
    mkdirSync(folder, { recursive: true })
    // Never replaces a file: "x" fails if there is one.
    writeFileSync(file, text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const inTheWay = (error as NodeJS.ErrnoException).code === 'EEXIST'
    throw new Exit(
      2,
      inTheWay
        ? `${file} exists already; name another folder, or remove the file first`
        : `cannot write ${file}: ${messageOf(error)}`,
    )
  }
}

const nextSteps = ({ file, token, listen, origin }: Answers & { file: string; token: string }): string => {
  return `wrote ${file}

API token (shown only once; ${file} contains it too): ${token}

Next:
  edged check ${file}${origin === 'demo' ? '       # after you have put your own server in place of `origin: demo`' : ''}
  edged serve -c ${file}
  curl -H 'Accept: text/markdown' http://${listen.replace(/^0\.0\.0\.0:/, '127.0.0.1:')}/
`
}
