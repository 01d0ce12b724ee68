/** The prefix of every path of the API. */
export const PREFIX = '/client/v4'
