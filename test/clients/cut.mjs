// A network that fails: node cut.mjs LISTEN_PORT TARGET_PORT EVERY_BYTES CUTS [RATE]. It forwards connections and cuts the one that is
// transferring whenever so many bytes have gone to the target, as many times as CUTS says. It prints a line for each cut. RATE is the most
// bytes a second that each connection sends to the target.
import net from 'node:net';

const [listen, target, every, most, rate = Infinity] = process.argv.slice(2).map(Number);
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
    const full = !server.write(data);
    if (!full && rate === Infinity) return;
    client.pause();
    const next = () => setTimeout(() => client.resume(), data.length * 1000 / rate);
    if (full) server.once('drain', next);
    else next();
  });
}).listen(listen, '127.0.0.1');
