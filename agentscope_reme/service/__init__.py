"""The calls of a memory over HTTP and MCP, for programs on the same machine only.

`options` says how, `access` who may ask, `running_jobs` runs a job, `app` is the HTTP side, `mcp`
the MCP side, `serving` a process that does all this, `presence` how others find it, `client` asks.
Nothing here loads starlette, uvicorn or the MCP SDK before a service is started.
"""
