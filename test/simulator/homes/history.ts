import { Finding } from '../world.js'

interface Data {
  /** The last number that a machine has stored. */
  last: number
  /** Numbers that may have been stored since. */
  begun: number
  /** Machine that uses the data at this moment. */
  machine: number | undefined
}

/** What was done with the data of accounts. Each method throws a {@link Finding} about a broken promise. */
export class HomesHistory {
  readonly #data = new Map<string, Data>()

  /** A machine begins to use the data. */
  begin(account: string, machine: number): void {
    const data = this.#of(account)
    if (data.machine !== undefined && data.machine !== machine)
      throw new Finding(`machines ${data.machine} and ${machine} use the data of ${account[0]} at once`)
    data.machine = machine
    data.begun++
  }

  /** It has stored the next number. */
  done(account: string, number: number): void {
    const data = this.#of(account)
    if (number <= data.last || number > data.last + data.begun)
      throw new Finding(`the data of ${account[0]} has ${number} after ${data.last}`)
    data.last = number
    data.begun = 0
  }

  end(account: string): void {
    this.#of(account).machine = undefined
  }

  /** A life of a machine is over. */
  ended(machine: number): void {
    for (const data of this.#data.values()) if (data.machine === machine) data.machine = undefined
  }

  #of(account: string): Data {
    let data = this.#data.get(account)
    if (data === undefined) this.#data.set(account, (data = { last: 0, begun: 0, machine: undefined }))
    return data
  }
}
