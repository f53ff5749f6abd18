// compress.mjs FOLDER: a FILE.br and a FILE.gz beside each file that gets smaller by it, and the
// sum of what a browser fetches, which has a limit.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const LIMIT_BYTES = 200 * 1024;

function* files(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* files(path);
    else yield path;
  }
}

let sum = 0;
for (const path of [...files(process.argv[2])]) {
  const plain = readFileSync(path);
  const packed = {
    ".br": brotliCompressSync(plain, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
      },
    }),
    ".gz": gzipSync(plain, { level: 9 }),
  };
  let least = plain.length;
  for (const [suffix, bytes] of Object.entries(packed)) {
    if (bytes.length >= plain.length) continue;
    writeFileSync(path + suffix, bytes);
    least = Math.min(least, bytes.length);
  }
  sum += least;
}
console.log(`${sum} bytes compressed of ${LIMIT_BYTES}`);
if (sum > LIMIT_BYTES) {
  console.error(`the web UI has ${sum} bytes compressed, more than ${LIMIT_BYTES}`);
  process.exit(1);
}
