// A worker that computes the SHA-256 of files: it gets {file}, and answers {sum} or {failed: true}.

import { hashFile } from "./proof.js";

addEventListener("message", async ({ data }) => {
  const answer = await hashFile(data.file).then((sum) => ({ sum }), () => ({ failed: true }));
  self.postMessage(answer);
});
