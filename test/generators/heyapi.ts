// Sends a file to the mailbox demo with the client that hey-api makes, and prints the uid of the transfer.
import { client } from './heyapi/client.gen'
import { attachObjects, confirmReservation, putContent, reserveMailbox } from './heyapi/sdk.gen'

const content = 'sent by a client of hey-api'
client.setConfig({ baseUrl: `${process.argv[2]}/transfer/v2`, throwOnError: true })
const made = await reserveMailbox({ path: { key: 'demo' }, body: { anonSender: 'Heidi', anonEmail: 'heidi@example.com' }, throwOnError: true })
const { uid } = made.data
const headers = { Authorization: made.response.headers.get('Authorization') }
await attachObjects({ path: { uid }, headers, body: { clientId: '1', name: 'heyapi.txt', intendedSize: content.length }, throwOnError: true })
await putContent({ path: { uid, clientId: '1' }, headers, body: new Blob([content], { type: 'application/octet-stream' }), throwOnError: true })
const sent = await confirmReservation({ path: { uid }, headers, throwOnError: true })
console.log(sent.data.uid)
