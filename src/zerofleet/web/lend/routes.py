"""Routes about lending: the run that takes games, accounts, the community, the operator's page."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Header, Path, Request, Response

from zerofleet.web.errors import Refused
from zerofleet.web.lend.accounts import token_in
from zerofleet.web.lend.lending import Lending, status_without
from zerofleet.web.lend.schema import (
    Community,
    LendAccount,
    LendStatus,
    NewAccount,
    OperatorAccount,
    OperatorAction,
    SignUp,
)
from zerofleet.web.safety import client_of
from zerofleet.web.services import Services

AccountId = Annotated[int, Path(ge=1, le=2**53, description="Number of an account.")]
Authorization = Annotated[str | None, Header(max_length=200, description="Bearer TOKEN")]


def lend_routes(services: Services) -> APIRouter:
    router = APIRouter(tags=["lend"])

    def lending() -> Lending:
        if services.lending is None:
            raise Refused(
                404, "off", "lending is off; zerofleet dash --lend --run NAME turns it on"
            )
        return services.lending

    @router.get("/lend")
    def get_lending() -> LendStatus:
        """Whether browsers may play, for which run, within which limits."""
        return services.lending.status() if services.lending else status_without("lending is off")

    @router.post("/lend/accounts", status_code=201)
    async def sign_up(request: Request, asked: SignUp) -> NewAccount:
        """A new account with its token, which is told here only."""
        return await services.in_thread(lending().sign_up, client_of(request.scope), asked)

    @router.get("/lend/me")
    async def get_account(authorization: Authorization = None) -> LendAccount:
        """The account of a token, and what it contributed."""
        found = lending()
        return await services.in_thread(lambda: found.own_account(token_in(authorization)))

    @router.delete("/lend/me", status_code=204)
    async def delete_account(authorization: Authorization = None) -> Response:
        """Deletes the account and everything that names it. Its games stay, as nobody's."""
        found = lending()
        await services.in_thread(lambda: found.delete_account(token_in(authorization)))
        return Response(status_code=204)

    @router.get("/lend/community")
    def get_community() -> Community:
        """Totals, the leaderboards and the history of the run."""
        return lending().community(services.runs)

    @router.get("/lend/operator/accounts")
    def list_accounts() -> list[OperatorAccount]:
        """All accounts, newest first."""
        return lending().operator_accounts()

    @router.post("/lend/operator/accounts/{account}/{action}")
    async def change_account(account: AccountId, action: OperatorAction) -> OperatorAccount:
        """Pauses, resumes or revokes an account; its tabs notice at once."""
        found = lending()
        return await asyncio.to_thread(found.operate, account, action)

    return router
