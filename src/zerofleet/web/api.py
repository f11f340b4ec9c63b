"""The JSON API as a FastAPI application, without pages and doors.

Errors of zerofleet become 4xx answers with the sentence that the command line would print.
"""

import re
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException

from zerofleet.errors import (
    BadBytes,
    DiskFull,
    EngineFailed,
    IllegalAction,
    Inconsistent,
    RulesFailed,
    TooLarge,
    Unsupported,
    ZerofleetError,
)
from zerofleet.web.errors import Refused
from zerofleet.web.lend.routes import lend_routes
from zerofleet.web.play_routes import play_routes
from zerofleet.web.run_routes import run_routes
from zerofleet.web.schema import Error, Hello, LiveMessage, LiveStatus
from zerofleet.web.services import Services

PREFIX = "/api/v1"

STATUSES: dict[type[ZerofleetError], int] = {
    Unsupported: 404,
    IllegalAction: 409,
    Inconsistent: 409,
    TooLarge: 413,
    BadBytes: 409,
    DiskFull: 409,
    EngineFailed: 409,
    RulesFailed: 409,
}
"""Other errors are 400."""


def make_api(services: Services) -> FastAPI:
    """The application with its routes and error answers."""
    app = FastAPI(
        title="zerofleet",
        version=version("zerofleet"),
        summary="Runs, games, ratings and play.",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
    )
    answers: dict[int | str, dict[str, Any]] = {"4XX": {"model": Error}}
    for router in (run_routes(services), play_routes(services), lend_routes(services)):
        app.include_router(router, prefix=PREFIX, responses=answers)
    app.add_exception_handler(ZerofleetError, answer_fault)
    app.add_exception_handler(RequestValidationError, answer_invalid)
    app.add_exception_handler(HTTPException, answer_http)
    app.openapi = lambda: schema_of(app)  # type: ignore[method-assign]
    return app


def schema_of(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI schema, with the messages of the WebSocket among its components."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version="1", summary=app.summary, routes=app.routes)
        _, live = models_json_schema(
            [(model, "serialization") for model in (Hello, LiveMessage, LiveStatus)],
            ref_template="#/components/schemas/{model}",
        )
        components = schema["components"]["schemas"]
        schema["components"]["schemas"] = dict(sorted({**live["$defs"], **components}.items()))
        app.openapi_schema = schema
    return app.openapi_schema


# ---- errors


def code_of(error: ZerofleetError) -> str:
    """The kind of an error: illegal_action."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).lower()


def error_answer(status: int, code: str, message: str) -> JSONResponse:
    return JSONResponse({"code": code, "message": message}, status)


async def answer_fault(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ZerofleetError)
    if isinstance(error, Refused):
        return error_answer(error.status, error.code, str(error))
    status = next((code for kind, code in STATUSES.items() if isinstance(error, kind)), 400)
    return error_answer(status, code_of(error), str(error))


async def answer_invalid(_: Request, error: Exception) -> JSONResponse:
    """Of a request that does not fit the schema."""
    assert isinstance(error, RequestValidationError)
    faults = [fault_text(fault) for fault in error.errors()[:3]]
    return error_answer(422, "bad_request", "; ".join(faults))


def fault_text(fault: Any) -> str:
    if fault["type"] == "json_invalid":
        return f"the body is not JSON: {fault.get('ctx', {}).get('error', 'it cannot be read')}"
    where = ".".join(str(part) for part in fault["loc"][1:]) or str(fault["loc"][0])
    return f"{where}: {fault['msg']}"


async def answer_http(request: Request, error: Exception) -> JSONResponse:
    """Of a path that does not exist, or a method that it does not have."""
    assert isinstance(error, HTTPException)
    words = {404: f"there is no {request.url.path}", 405: f"{request.method} is not allowed here"}
    codes = {404: "not_found", 405: "not_allowed", 413: "too_large"}
    code = codes.get(error.status_code, "refused")
    return error_answer(error.status_code, code, words.get(error.status_code, str(error.detail)))
