/** A file as the body of a request, with how far it is; fetch() does not tell that. */
import { isProblemBody, ApiProblem } from "../api/problem";

/** Of an image (POST /v1/firmware/images). */
export const IMAGE_BYTES_MAX = 512 * 2 ** 20;

export async function sha256(file: Blob): Promise<string> {
  const sum = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  return [...new Uint8Array(sum)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The refusal that an answer is; undefined = it is none. */
export function refusalOf(status: number, text: string): ApiProblem | undefined {
  if (status >= 200 && status < 300) return undefined;
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    body = null;
  }
  if (isProblemBody(body)) return new ApiProblem(status, body);
  return new ApiProblem(status, { status, code: status === 0 ? "no-answer" : "no-problem", request_id: "" });
}

/** Throws ApiProblem; `told` gets shares from 0 to 1. */
export function upload(path: string, query: Record<string, string>, file: Blob, told: (share: number) => void): Promise<void> {
  return new Promise((done, refuse) => {
    const request = new XMLHttpRequest();
    request.open("POST", `${path}?${new URLSearchParams(query).toString()}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => {
      if (event.lengthComputable && event.total > 0) told(event.loaded / event.total);
    };
    request.onloadend = () => {
      const refusal = refusalOf(request.status, request.responseText);
      if (refusal === undefined) done();
      else refuse(refusal);
    };
    request.send(file);
  });
}
