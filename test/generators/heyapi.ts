// Sends a file to the mailbox demo with the client that hey-api makes, and prints the uid of the transfer.
import { client } from './heyapi/transfer-v2/client.gen'
import { attachObjects, confirmReservation, putContent, reserveMailbox } from './heyapi/transfer-v2/sdk.gen'

const content = 'sent by a client of hey-api'
client.setConfig({ baseUrl: `${process.argv[2]}/transfer/v2`, throwOnError: true })
const sender = { anonSender: 'Heidi', anonEmail: 'heidi@example.com' }
const made = await reserveMailbox({ path: { key: 'demo' }, body: sender, throwOnError: true })
const { uid } = made.data
const headers = { Authorization: made.response.headers.get('Authorization') }
const file = { clientId: '1', name: 'heyapi.txt', intendedSize: content.length }
await attachObjects({ path: { uid }, headers, body: file, throwOnError: true })
const bytes = new Blob([content], { type: 'application/octet-stream' })
await putContent({ path: { uid, clientId: '1' }, headers, body: bytes, throwOnError: true })
const sent = await confirmReservation({ path: { uid }, headers, throwOnError: true })
console.log(sent.data.uid)
