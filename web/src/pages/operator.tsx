// Operator: all accounts, what was found about their games, and the means against those who forge.
import { useState } from "preact/hooks";
import type { components } from "../api";
import { ApiError, post, useGet } from "../client";
import { LendTabs, LendingIsOff, useEvery } from "../lend/tabs";
import { Badge } from "../parts/badge";
import { Button } from "../parts/controls";
import { ago, count, percent, plural } from "../parts/format";
import { Empty, ErrorNote, Loading, PageHead, Section, sentence } from "../parts/page";
import { Table, type Column } from "../parts/table";
import "../styles/lend.css";

type Row = components["schemas"]["OperatorAccount"];
type Action = "pause" | "resume" | "revoke";

export default function OperatorPage() {
  const accounts = useGet("/api/v1/lend/operator/accounts");
  useEvery(5, accounts.reload);
  const [fault, setFault] = useState<ApiError | null>(null);
  const { data, error } = accounts;
  const act = async (account: number, action: Action): Promise<void> => {
    try {
      const changed = await post("/api/v1/lend/operator/accounts/{account}/{action}", { path: { account, action } });
      accounts.update((rows) => rows.map((row) => (row.account.id === account ? changed : row)));
      setFault(null);
    } catch (found) {
      setFault(found instanceof ApiError ? found : new ApiError("unknown", String(found), 0));
    }
  };
  return (
    <>
      <PageHead title="Operator" below="Accounts that lend, and what the checks of their games found." />
      <LendTabs />
      {error?.code === "off" ? <LendingIsOff reason="" /> : error && <ErrorNote error={error} />}
      {fault && <ErrorNote error={fault} />}
      {data === null ? (
        accounts.isLoading && <Loading />
      ) : (
        <Section title="Accounts" note={plural(data.length, "account")}>
          {data.length === 0 ? (
            <Empty title="Nobody has signed up yet">Accounts appear here when somebody opens the Lend page.</Empty>
          ) : (
            <Table
              caption="Accounts"
              columns={columns(act)}
              rows={data}
              rowKey={({ account }) => account.id}
              isAlert={({ account }) => account.state === "quarantined"}
            />
          )}
        </Section>
      )}
    </>
  );
}

function columns(act: (account: number, action: Action) => Promise<void>): Column<Row>[] {
  return [
    {
      title: "Account",
      isHead: true,
      cell: ({ account, num_online }) => (
        <>
          {account.name} <State account={account} />
          <div class="stage-note">
            {num_online > 0
              ? `${plural(num_online, "tab")} connected`
              : `joined ${ago(Date.now() / 1000 - account.created)}`}
          </div>
          {account.reason !== "" && <div class="stage-note">{sentence(account.reason)}</div>}
        </>
      ),
    },
    { title: "Games", isNumber: true, cell: ({ account }) => count(account.num_games) },
    { title: "Valid in a row", isNumber: true, cell: ({ num_valid }) => count(num_valid) },
    { title: "Searched again", isNumber: true, cell: ({ num_checked }) => count(num_checked) },
    {
      title: "Suspicion",
      isNumber: true,
      cell: ({ suspicion, alarm }) => (alarm > 0 ? percent(Math.max(0, suspicion) / alarm) : "–"),
    },
    { title: "Refused", isNumber: true, cell: ({ num_refused }) => count(num_refused) },
    { title: "Withdrawn", isNumber: true, cell: ({ num_withdrawn }) => count(num_withdrawn) },
    { title: "Not returned", isNumber: true, cell: ({ account }) => count(account.num_unreturned) },
    {
      title: "",
      isWide: true,
      cell: ({ account }) => (
        <div class="controls lend-actions">
          {account.state === "active" && (
            <Button aria-label={`Pause ${account.name}`} onClick={() => void act(account.id, "pause")}>
              Pause
            </Button>
          )}
          {(account.state === "paused" || account.state === "quarantined") && (
            <Button aria-label={`Resume ${account.name}`} onClick={() => void act(account.id, "resume")}>
              Resume
            </Button>
          )}
          {account.state !== "revoked" && (
            <Button aria-label={`Revoke ${account.name}`} onClick={() => void act(account.id, "revoke")}>
              Revoke
            </Button>
          )}
        </div>
      ),
    },
  ];
}

function State({ account }: { account: Row["account"] }) {
  if (account.state === "active") return null;
  return <Badge tone={account.state === "quarantined" ? "alert" : "plain"}>{account.state}</Badge>;
}
