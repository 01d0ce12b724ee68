import { createInterface } from 'node:readline'
import { Exit, type DefineCommand } from './common/command.js'

/** Work factor: a comparison takes about 60 ms. */
const COST = 10
/** bcrypt ignores further bytes. */
const MAX_BYTES = 72

/** `edged hash-password`: the line of a password for `users_file`. */
export const hashPassword: DefineCommand = (command) => {
  command
    .argument('[name]', 'name of the user; without it the hash alone is printed')
    .addHelpText(
      'after',
      '\nReads one line with the password from standard input. Exit codes: 0 printed; 1 the password is empty or too long.',
    )
    .action(async (name: string | undefined) => {
      if (name?.includes(':')) throw new Exit(1, 'a name must have no colon')
      if (process.stdin.isTTY) process.stderr.write('Password: ')
      const password = await firstLine()
      const bytes = Buffer.byteLength(password)
      if (bytes === 0) throw new Exit(1, 'the password is empty; type it, or pipe it to standard input')
      if (bytes > MAX_BYTES) throw new Exit(1, `the password has ${bytes} bytes; bcrypt reads ${MAX_BYTES}`)
      const { hash } = await import('bcryptjs')
      const text = await hash(password, COST)
      process.stdout.write(name === undefined ? `${text}\n` : `${name}:${text}\n`)
    })
}

async function firstLine(): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: undefined, terminal: process.stdin.isTTY })
  try {
    for await (const line of lines) return line
    return ''
  } finally {
    lines.close()
    if (process.stdin.isTTY) process.stderr.write('\n')
  }
}
