#!/usr/bin/env python3
"""The pages of the web UI: each file in each coding, what may be kept, and that no page hides a route."""
import gzip
import re
import shutil
import subprocess

from lib import Server, Tap, arguments, finish, fixture

PAGE = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
CSP = ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'",
       "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types svelte-trusted-html")


def unpacked(answer):
    coding = answer.headers.get("Content-Encoding")
    if coding == "gzip":
        return gzip.decompress(answer.body)
    if coding == "br":
        node = "process.stdout.write(require('zlib').brotliDecompressSync(require('fs').readFileSync(0)))"
        return subprocess.run(["node", "-e", node], input=answer.body, check=True, capture_output=True,
                              timeout=60).stdout
    return answer.body


def check_codings(tap, server, path):
    plain = server.get(path, token=None)
    tap.equal((plain.status, plain.headers.get("Content-Encoding"), plain.headers.get("Vary")),
              (200, None, "Accept-Encoding"), f"{path} as it is")
    tags = {plain.etag}
    for accept, wanted in (("gzip", "gzip"), ("br", "br"), ("gzip, deflate, br, zstd", "br"),
                           ("br;q=0, gzip", "gzip"), ("gzip;q=0.1, br;q=0", "gzip"), ("identity", None),
                           ("*;q=0.1", None), ("gzip;q=0", None), ("x" * 300, None)):
        if wanted == "br" and shutil.which("node") is None:
            wanted, accept = "gzip", "gzip"
        answer = server.get(path, headers={"Accept-Encoding": accept}, token=None)
        tap.equal((answer.status, answer.headers.get("Content-Encoding"), unpacked(answer) == plain.body),
                  (200, wanted, True), f"{path} by Accept-Encoding: {accept[:40]}")
        tags.add(answer.etag)
        again = server.get(path, headers={"Accept-Encoding": accept, "If-None-Match": answer.etag}, token=None)
        tap.equal((again.status, again.body, again.etag), (304, b"", answer.etag), f"{path} is known ({accept[:40]})")
    other = server.get(path, headers={"Accept-Encoding": "gzip", "If-None-Match": plain.etag}, token=None)
    tap.equal(other.status, 200, f"{path}: the tag of the plain bytes is not that of the packed ones")
    tap.equal(len(tags), 3, f"{path}: each coding has a tag of its own")
    head = server.call("HEAD", path, headers={"Accept-Encoding": "gzip"}, token=None)
    tap.equal((head.status, head.body, head.headers.get("Content-Encoding")), (200, b"", "gzip"), f"HEAD {path}")
    return plain


def check_page(tap, server, is_built):
    page = server.get("/", token=None)
    tap.equal(page.status, 200, "/ is a page without any credentials")
    tap.equal(page.headers.get("Content-Type"), "text/html; charset=utf-8", "of HTML")
    tap.equal(page.headers.get("Cache-Control"), "private, no-cache", "that is asked for anew")
    policy = page.headers.get("Content-Security-Policy", "")
    tap.equal([part for part in CSP if part not in policy], [], "its policy lets in our own files alone")
    tap.equal([part for part in ("unsafe", "http:", "https:", "data:", "*") if part in policy], [], "and nothing else")
    known = server.get("/", headers={"If-None-Match": page.etag}, token=None)
    tap.equal((known.status, known.headers.get("Content-Security-Policy")), (304, policy),
              "a page that is known keeps its policy")
    text = page.body.decode()
    tap.equal(re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", text), [], "nothing in it is inline")
    tap.equal(re.findall(r"(?:src|href)=\"(?:https?:)?//", text), [], "nothing in it is from elsewhere")
    files = re.findall(r"(?:src|href)=\"(/assets/[^\"]+)\"", text)
    if not is_built:
        tap.ok("without the web UI" in text, "the page says that there is no web UI")
        return
    tap.ok(len(files) >= 2, "it names its script and its style")
    for path in files:
        answer = check_codings(tap, server, path)
        tap.equal(answer.headers.get("Cache-Control"), "public, max-age=31536000, immutable", f"{path} may be kept")
        tap.equal(answer.headers.get("X-Content-Type-Options"), "nosniff", f"{path} is what its type says")
        tap.ok(answer.headers.get("Content-Type").split(";")[0] in ("text/javascript", "text/css"), f"{path} has a type")
    tap.equal(server.get("/favicon.svg", token=None).headers.get("Content-Type"), "image/svg+xml", "an icon")


def check_paths(tap, server):
    index = server.get("/", token=None)
    for path in ("/nodes", "/nodes/n1", "/tenants/a/policy?tab=history", "/first"):
        answer = server.get(path, headers=PAGE, token=None)
        tap.equal((answer.status, answer.body == index.body), (200, True), f"a browser that goes to {path} gets the page")
    for path in ("/v1", "/v1/nope", "/v1/nodes/n1/nope", "/assets", "/assets/nope.js"):
        answer = server.get(path, headers=PAGE)
        tap.equal((answer.status, answer.headers.get("Content-Type")), (404, "application/problem+json"), f"{path} is no screen")
    for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/json, text/html;q=0.5"}):
        answer = server.get("/nodes", headers=accept, token=None)
        tap.equal((answer.status, answer.json["code"]), (404, "not-found"), f"a program that asks for /nodes with {accept} gets a problem")
    tap.equal(server.get("/v1/nodes", headers=PAGE, token=None).status, 401, "a route stays a route for a browser too")
    tap.equal(server.get("/healthz", headers=PAGE, token=None).json["status"], "ok", "and so does /healthz")
    for method in ("POST", "PUT", "DELETE"):
        answer = server.call(method, "/", body=b"", token=None)
        tap.equal((answer.status, answer.headers.get("Allow")), (405, "GET, HEAD, OPTIONS"), f"{method} / is refused")
        tap.equal(server.call(method, "/nodes", body=b"", headers=PAGE, token=None).status, 404, f"{method} /nodes")
    options = server.call("OPTIONS", "/", token=None)
    tap.equal((options.status, options.headers.get("Allow")), (204, "GET, HEAD, OPTIONS"), "OPTIONS / says what is taken")
    for path in ("/..%2findex.html", "/assets/..%2f..%2fetc/passwd", "/%00", "/index.html%00.js"):
        tap.ok(server.get(path, token=None).status in (400, 404), f"{path} is nothing")


def main():
    args, tap = arguments(), Tap()
    server = Server(args).start()
    fixture(server)
    with open(f"{args.objdir}/gen/webui.mode", encoding="utf-8") as f:
        check_page(tap, server, f.read().strip() == "yes")
    check_paths(tap, server)
    finish(tap, server)
    tap.done()


main()
