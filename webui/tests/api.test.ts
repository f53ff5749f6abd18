import { describe, expect, it } from "vitest";

import { ITEMS_MAX, PAGE_SIZE, read, readAll, type Page } from "../src/api/client";
import { ApiProblem, findingsAt, isProblemBody, pointerOf } from "../src/api/problem";

const answer = <T>(status: number, body: T, headers: Record<string, string> = {}) => {
  const response = new Response(null, { status, headers });
  return Promise.resolve<{ data?: T; error?: unknown; response: Response }>(status < 400 ? { data: body, response } : { error: body, response });
};

describe("read", () => {
  it("gives the data with its tag", async () => {
    const got = await read(answer(200, { a: 1 }, { ETag: '"3"' }));
    expect(got).toEqual({ data: { a: 1 }, etag: '"3"', status: 200 });
  });

  it("throws a problem with its findings, and the current tag of a 412", async () => {
    const body = { status: 412, code: "precondition-failed", request_id: "r1", errors: [{ rule: "x", pointer: "/a", observed: 7 }] };
    const problem = await read(answer(412, body, { ETag: '"9"' })).catch((e: unknown) => e);
    expect(problem).toBeInstanceOf(ApiProblem);
    expect(problem).toMatchObject({ status: 412, code: "precondition-failed", requestId: "r1", etag: '"9"' });
    expect((problem as ApiProblem).findings).toEqual([{ rule: "x", severity: "error", pointer: "/a", observed: "7" }]);
  });

  it("says so when there was no answer, or one of something else", async () => {
    await expect(read(Promise.reject(new TypeError("failed")))).rejects.toMatchObject({ status: 0, code: "no-answer" });
    await expect(read(answer(502, "<html>"))).rejects.toMatchObject({ status: 502, code: "no-problem" });
  });
});

describe("readAll", () => {
  it("shows the first page while others come, and only then", async () => {
    const shown: number[][] = [];
    const pages: Page<number>[] = [{ items: [1, 2], next_page_token: "a" }, { items: [3], next_page_token: "b" }, { items: [4] }];
    const got = await readAll(() => answer<Page<number>>(200, pages.shift() ?? { items: [] }), (items) => shown.push([...items]));
    expect([shown, got]).toEqual([[[1, 2]], { items: [1, 2, 3, 4], cut: false }]);
    await readAll(() => answer<Page<number>>(200, { items: [9] }), (items) => shown.push([...items]));
    expect(shown.length).toBe(1);
  });
  it("reads every page and asks for the next by the token", async () => {
    const asked: unknown[] = [];
    const got = await readAll((query) => {
      asked.push(query);
      const page = { items: [asked.length] };
      return answer<Page<number>>(200, asked.length < 3 ? { ...page, next_page_token: `t${asked.length}` } : page);
    });
    expect(got).toEqual({ items: [1, 2, 3], cut: false });
    expect(asked).toEqual([{ page_size: PAGE_SIZE }, { page_size: PAGE_SIZE, page_token: "t1" }, { page_size: PAGE_SIZE, page_token: "t2" }]);
  });

  it("stops at its limit and says that there is more", async () => {
    const items = new Array<number>(PAGE_SIZE).fill(0);
    const got = await readAll(() => answer<Page<number>>(200, { items, next_page_token: "more" }));
    expect(got.items.length).toBe(ITEMS_MAX);
    expect(got.cut).toBe(true);
  });
});

describe("findings", () => {
  it("belong to the field that they name or that holds what they name", () => {
    const findings = ["/qos_policy/a", "/qos_policy/a/priority", "/qos_policy/ab", undefined].map((pointer) => ({ rule: "r", severity: "error", ...(pointer === undefined ? {} : { pointer }) }));
    expect(findingsAt(findings, "/qos_policy/a").length).toBe(2);
  });
  it("have pointers that escape what stands for something else", () => {
    expect(pointerOf("qos_policy", "a/b~c")).toBe("/qos_policy/a~1b~0c");
  });
  it("are those of a problem only", () => {
    expect([null, 1, {}, { code: 1 }, { code: "x" }].map(isProblemBody)).toEqual([false, false, false, false, true]);
  });
});
