"""The few calls of Elasticsearch the store uses, over HTTP, as its documentation says they work.

It is strict: what it does not know is refused, fields must fit their mappings, and what was written
is not found before a refresh. It is no proof that a real server agrees.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

Row = dict[str, Any]
FITS = {"keyword": str, "text": str, "binary": str, "double": int | float, "boolean": bool}


class Refused(Exception):
    def __init__(self, status: int, kind: str, reason: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.body = {"error": {"type": kind, "reason": reason}, "status": status}


def need(condition: object, reason: str) -> None:
    if not condition:
        raise Refused(400, "illegal_argument_exception", reason)


@dataclass
class Index:
    window: int
    mappings: Row
    rows: dict[str, Row] = field(default_factory=dict)
    seen: dict[str, Row] = field(default_factory=dict)

    def kind(self, path: str) -> str | None:
        """The type of a field; ``None`` when it has none yet."""
        if not path.startswith("attributes."):
            found = self.mappings["properties"].get(path)
            need(found, f"[strict] {path} is not allowed")
            return str(found["type"])
        leaf = path.removeprefix("attributes.")
        for template in self.mappings["dynamic_templates"]:
            (rule,) = template.values()
            if fnmatchcase(leaf, rule["match"]):
                return str(rule["mapping"]["type"])
        raise Refused(400, "illegal_argument_exception", f"no template for {path}")

    def check(self, document: Row) -> None:
        flat = {name: value for name, value in document.items() if name != "attributes"}
        flat |= {f"attributes.{name}": value for name, value in document["attributes"].items()}
        for path, value in flat.items():
            kind = self.kind(path)
            if kind == "dense_vector":
                width = self.mappings["properties"]["vector"]["dims"]
                need(len(value) == width, f"the vector has {len(value)} of {width} dims")
                continue
            need(kind and isinstance(value, FITS[kind]), f"{path} is no {kind}")
            need(kind != "keyword" or len(value.encode()) <= 32_766, f"{path} is too long")

    def index(self, key: str, document: Row) -> None:
        self.check(document)
        self.rows[key] = document

    def update(self, key: str, part: Row) -> None:
        if key not in self.rows:
            raise Refused(404, "document_missing_exception", key)
        (name,) = part
        need(name == "doc", "only partial documents")
        (below,) = part["doc"]
        merged = {**self.rows[key], below: {**self.rows[key][below], **part["doc"][below]}}
        self.index(key, merged)

    def meets(self, row: Row, query: Row) -> bool:
        (kind,) = query
        if kind == "bool":
            need(set(query[kind]) <= {"filter", "must_not"}, "only filter and must_not")
            asks, never = query[kind]["filter"], query[kind]["must_not"]
            return all(self.meets(row, q) for q in asks) and not any(
                self.meets(row, q) for q in never
            )
        need(kind in ("term", "terms", "range"), f"unknown query [{kind}]")
        ((path, wanted),) = query[kind].items()
        mapped = self.kind(path)
        value = row["attributes"].get(path.removeprefix("attributes."))
        if kind == "range":
            need(mapped == "double" and set(wanted) == {"gte", "lte"}, "a range of numbers")
            return value is not None and bool(wanted["gte"] <= value <= wanted["lte"])
        options = wanted if kind == "terms" else [wanted]
        need(mapped and all(isinstance(each, FITS[mapped]) for each in options), f"no {mapped}")
        return value is not None and value in options

    def search(self, body: Row) -> list[Row]:
        known = {"query", "size", "sort", "search_after", "_source"}
        need(set(body) <= known, f"unknown keys {set(body) - known}")
        need(0 <= body["size"] <= self.window, "result window is too large")
        query, score = body["query"], None
        if "script_score" in query:
            script = query["script_score"]["script"]
            need(script["source"] == "cosineSimilarity(params.query, 'vector') + 1.0", "script")
            query, score = query["script_score"]["query"], np.array(script["params"]["query"])
        keys = sorted(key for key, row in self.seen.items() if self.meets(row, query))
        hits = [{"_id": key, "_score": None, "_source": self.seen[key]} for key in keys]
        if score is not None:
            for hit in hits:
                row = np.array(hit["_source"]["vector"])
                need(len(row) == len(score), "the query vector has another number of dims")
                cosine = row @ score / np.linalg.norm(row) / np.linalg.norm(score)
                hit["_score"] = float(np.float32(cosine + 1.0))
            hits.sort(key=lambda hit: -hit["_score"])
        else:
            need(body["sort"] == [{"key": "asc"}], "sorted by key")
            after = body.get("search_after")
            hits = [hit for hit in hits if after is None or hit["_id"] > after[0]]
        return hits[: body["size"]]


class Server(ThreadingHTTPServer):
    """Holds indexes in memory."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.indexes: dict[str, Index] = {}
        self.guard = threading.Lock()
        self.refused_writes = 0

    def answer(self, method: str, path: str, options: Mapping[str, str], text: str) -> Any:
        name, _, call = path.strip("/").partition("/")
        match method, call:
            case "HEAD", "":
                return None if name in self.indexes else Refused(404, "missing")
            case "PUT", "":
                return self.create(name, json.loads(text))
            case "DELETE", "":
                need(options == {"ignore_unavailable": "true"}, f"options {options}")
                self.indexes.pop(name, None)
                return {"acknowledged": True}
        if name not in self.indexes:
            raise Refused(404, "index_not_found_exception", name)
        index = self.indexes[name]
        match method, call:
            case "PUT", "_bulk":
                need(options == {"refresh": "true"}, f"options {options}")
                return self.bulk(index, [json.loads(line) for line in text.splitlines()])
            case "POST", "_mget":
                left_out = set(options["_source_excludes"].split(","))
                return {"docs": [found(index, key, left_out) for key in json.loads(text)["ids"]]}
            case "POST", "_count":
                query = json.loads(text)["query"]
                return {"count": sum(index.meets(row, query) for row in index.seen.values())}
            case "POST", "_search":
                return {"hits": {"hits": slimmed(index.search(json.loads(text)), options)}}
        raise Refused(400, "illegal_argument_exception", f"no handler for {method} {path}")

    def create(self, name: str, body: Row) -> Row:
        if name in self.indexes:
            raise Refused(400, "resource_already_exists_exception", name)
        need(set(body) == {"settings", "mappings"}, "settings and mappings")
        need(body["mappings"]["dynamic"] == "strict", "a strict mapping")
        self.indexes[name] = Index(body["settings"]["max_result_window"], body["mappings"])
        return {"acknowledged": True, "index": name}

    def bulk(self, index: Index, lines: list[Row]) -> Row:
        items, rest = [], iter(lines)
        for line in rest:
            ((action, meta),) = line.items()
            document = None if action == "delete" else next(rest)
            told: Row = {"_id": meta["_id"], "status": 200}
            try:
                told["status"] = self.write(index, action, meta["_id"], document)
            except Refused as error:
                told |= error.body
            items.append({action: told})
        index.seen = dict(index.rows)
        return {"errors": any("error" in each for item in items for each in item.values())} | {
            "items": items
        }

    def write(self, index: Index, action: str, key: str, document: Any) -> int:
        if self.refused_writes:
            self.refused_writes -= 1
            raise Refused(429, "es_rejected_execution_exception", "queue is full")
        match action:
            case "delete":
                return 200 if index.rows.pop(key, None) else 404
            case "index":
                index.index(key, document)
            case "update":
                index.update(key, document)
            case _:
                raise Refused(400, "illegal_argument_exception", action)
        return 200


def found(index: Index, key: str, left_out: set[str]) -> Row:
    if key not in index.rows:
        return {"_id": key, "found": False}
    kept = {name: value for name, value in index.rows[key].items() if name not in left_out}
    return {"_id": key, "found": True, "_source": kept}


def slimmed(hits: list[Row], options: Mapping[str, str]) -> list[Row]:
    only = options.get("_source_includes")
    never = options.get("_source_excludes", "").split(",")
    for hit in hits:
        hit["_source"] = {
            name: value
            for name, value in hit["_source"].items()
            if name not in never and (only is None or name in only.split(","))
        }
    return hits


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle_any(self) -> None:
        parts = urlsplit(self.path)
        options = {name: values[0] for name, values in parse_qs(parts.query).items()}
        text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        status, body = 200, None
        try:
            with self.server.guard:
                body = self.server.answer(self.command, parts.path, options, text)
            if isinstance(body, Refused):
                raise body
        except Refused as error:
            status, body = error.status, error.body
        payload = b"" if self.command == "HEAD" else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Type", self.headers.get("Accept", "application/json"))
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any  # noqa: N815

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[Server]:
    """A server on loopback, while this lasts."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def address(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}"
