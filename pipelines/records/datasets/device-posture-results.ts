import { dataset } from '../dataset.js'

export const devicePostureResults = dataset({
  name: 'device_posture_results',
  scopes: ['account'],
  clock: 'Timestamp',
  fields: {
    ClientVersion: 'string',
    DeviceID: 'string',
    DeviceManufacturer: 'string',
    DeviceModel: 'string',
    DeviceName: 'string',
    DeviceSerialNumber: 'string',
    DeviceType: 'string',
    Email: 'string',
    OSVersion: 'string',
    PolicyID: 'string',
    PostureCheckName: 'string',
    PostureCheckType: 'string',
    PostureEvaluatedResult: 'bool',
    PostureExpectedJSON: 'object',
    PostureReceivedJSON: 'object',
    RegistrationID: 'string',
    Timestamp: 'timestamp',
    UserUID: 'string',
  },
})
