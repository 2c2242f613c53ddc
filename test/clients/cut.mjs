// A network that fails: node cut.mjs LISTEN_PORT TARGET_PORT EVERY_BYTES CUTS. It forwards connections and cuts the one that is
// transferring whenever so many bytes have gone to the target, as many times as CUTS says. It prints a line for each cut.
import net from 'node:net';

const [listen, target, every, most] = process.argv.slice(2).map(Number);
let sent = 0;
let cuts = 0;

net.createServer((client) => {
  const server = net.connect(target, '127.0.0.1');
  const end = () => { client.destroy(); server.destroy(); };
  client.on('error', end).on('close', end);
  server.on('error', end).on('close', end);
  server.pipe(client);
  client.on('data', (data) => {
    sent += data.length;
    if (cuts < most && sent >= every * (cuts + 1)) {
      cuts++;
      console.log(`cut ${cuts} after ${sent} bytes`);
      client.pause(); // what came after the half that is dropped would look like its successor
      server.write(data.subarray(0, data.length >> 1), end);
      return;
    }
    if (!server.write(data)) {
      client.pause();
      server.once('drain', () => client.resume());
    }
  });
}).listen(listen, '127.0.0.1');
