/** Every path of the API begins with it. */
export const PREFIX = '/client/v4'
