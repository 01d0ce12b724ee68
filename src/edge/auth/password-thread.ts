/** A thread that compares passwords with bcrypt hashes, which takes 60 to 250 ms of CPU time each: see `passwords.ts`. */
import { parentPort } from 'node:worker_threads'
import { compareSync } from 'bcryptjs'
import type { PasswordCheck } from './passwords.js'

parentPort?.on('message', ({ id, password, hash }: PasswordCheck) => {
  let isRight = false
  try {
    isRight = compareSync(password, hash)
  } catch {
    // A hash that is not valid fits no password.
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
  parentPort?.postMessage({ id, isRight })
})
